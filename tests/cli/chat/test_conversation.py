"""What a chat always shows of its conversation."""

from pathlib import Path

import pytest

from toolgate.agent.events import TurnDone
from toolgate.cli.chat.conversation import Conversation, project_and_branch, resume_command, status_parts
from toolgate.compose import assemble
from toolgate.errors import ModelError
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import InMemorySessions, Usage
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel


async def test_mode_model_project_branch_context_tokens_and_cost_are_shown(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/feature-x\n")
    model = {"provider": "offline", "input_price": 2.0, "output_price": 10.0}
    url = f"sqlite:///{tmp_path}/chat.db"
    settings = Settings.of(workspace={"root": root}, database={"url": url}, model=model)
    async with assemble(settings, model=ScriptedModel([])) as stack:
        conversation = Conversation(stack, ToolMode.chat_safe)
        before = status_parts(conversation, project_and_branch(stack))
        assert before == ["chat_safe", "asks for approval", "scripted", "shop (feature-x)", "context 0% of 120k"]
        usage = Usage(input_tokens=1_000, output_tokens=100)
        conversation.count(TurnDone(usage=usage, context_tokens=4_000, context_limit=8_000))
        after = status_parts(conversation, project_and_branch(stack))
        assert after[4:] == ["context 50% of 8k", "1,100 tokens", "cost 0.0030"]
        conversation.count(TurnDone(usage=Usage(), context_tokens=0, context_limit=0))  # a command that a person typed
        assert status_parts(conversation, project_and_branch(stack)) == after


async def test_a_model_is_chosen_before_the_first_message_and_kept_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    settings = Settings.of(workspace={"root": tmp_path}, database={"url": f"sqlite:///{tmp_path}/chat.db"})
    async with assemble(settings, model=ScriptedModel([])) as stack:
        conversation = Conversation(stack, ToolMode.chat_safe)
        await conversation.choose_model("openai:m2")
        assert (conversation.model_name, (await conversation.ensure_session()).model) == ("m2", "openai:m2")
        with pytest.raises(ModelError, match="needs a key"):
            await conversation.choose_model("anthropic:claude-x")
        await conversation.choose_model("scripted")
        assert (conversation.model_name, (await conversation.ensure_session()).model) == ("scripted", "")


async def test_the_command_that_continues_a_session_has_its_mode_and_its_project() -> None:
    settings = Settings.of(session={"coding_enabled": True}).session
    async with InMemorySessions(settings) as sessions:
        chat, coding = await sessions.create(), await sessions.create("coding")
    assert resume_command(chat, None) == f"toolgate chat --resume {chat.id}"
    assert resume_command(coding, Path("a shop")) == f"toolgate chat --coding --root 'a shop' --resume {coding.id}"
