"""The approval mode and the model, chosen at the editor."""

from pathlib import Path

import pytest
from acp import text_block
from acp.exceptions import RequestError

from tests.adapters.acp.kit import Editor, call, connected, opener
from toolgate.testing import ScriptedModel


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    return project


async def test_edits_that_are_accepted_are_not_asked_about_and_a_plan_changes_nothing(root: Path) -> None:
    write = [call("write_file", path="b.txt", content="x\n")]
    editor = Editor()
    model = ScriptedModel([write, "Done.", [call("write_file", path="c.txt", content="x\n")], "Planned."])
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        assert session.modes is not None
        assert session.modes.current_mode_id == "ask"
        assert [mode.id for mode in session.modes.available_modes] == ["ask", "accept_edits", "plan"]
        await agent.set_session_mode(session_id=session.session_id, mode_id="accept_edits")
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert (root / "b.txt").exists()
        await agent.set_session_mode(session_id=session.session_id, mode_id="plan")
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go on")])
        loaded = await agent.load_session(cwd=str(root), session_id=session.session_id)
    assert editor.asked == []
    assert not (root / "c.txt").exists()
    assert loaded is not None
    assert loaded.modes is not None
    assert loaded.modes.current_mode_id == "plan"


async def test_a_mode_that_is_none_and_the_tool_mode_are_refused(root: Path) -> None:
    async with connected(Editor(), opener(lambda: ScriptedModel([]), root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        for mode in ("coding", "chat_safe", "everything"):
            with pytest.raises(RequestError, match="choose ask, accept_edits or plan"):
                await agent.set_session_mode(session_id=session.session_id, mode_id=mode)


async def test_the_model_of_the_next_turn_is_chosen_and_one_that_cannot_be_used_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with connected(Editor(), opener(lambda: ScriptedModel([]), root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        chosen = await agent.set_config_option(config_id="model", session_id=session.session_id, value="openai:m2")
        assert chosen is not None
        assert chosen.config_options[0].current_value == "openai:m2"
        with pytest.raises(RequestError, match="needs a key"):
            await agent.set_config_option(config_id="model", session_id=session.session_id, value="anthropic:claude-x")
        with pytest.raises(RequestError, match="no option"):
            await agent.set_config_option(config_id="colour", session_id=session.session_id, value="red")
