from pathlib import Path

import pytest

import toolgate
from toolgate.agent import TextChunk, ToolResultInfo, TurnDone
from toolgate.compose import assemble, settings_with_model
from toolgate.errors import ModelError, StoreError
from toolgate.models import OfflineModel, OpenAIModel
from toolgate.protocol.calls import ToolCall
from toolgate.settings import DatabaseSettings, SessionSettings, Settings, WorkspaceSettings
from toolgate.testing import ScriptedModel


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("hello\n")
    return Settings.defaults().model_copy(
        update={
            "workspace": WorkspaceSettings(root=project),
            "database": DatabaseSettings(url=f"sqlite:///{tmp_path}/data/toolgate.db"),
            "session": SessionSettings(coding_enabled=True),
        }
    )


async def test_one_turn_goes_through_all_rooms(settings: Settings) -> None:
    call = ToolCall(id="c1", name="read_file", arguments='{"path": "a.txt"}')
    model = ScriptedModel([[call], "It says hello."])
    async with assemble(settings, model=model) as stack:
        session = await stack.sessions.create("coding", project=stack.project)
        events = [event async for event in stack.loop.handle_message(session.id, "What is in a.txt?")]
        history = await stack.sessions.history(session.id)
    results = [event for event in events if isinstance(event, ToolResultInfo)]
    assert ["hello" in result.result.output for result in results] == [True]
    assert "".join(event.content for event in events if isinstance(event, TextChunk)) == "It says hello."
    assert isinstance(events[-1], TurnDone)
    assert [message.content for message in history] == ["What is in a.txt?", "It says hello."]


async def test_what_was_said_is_there_again_in_the_next_run(settings: Settings) -> None:
    async with assemble(settings, model=ScriptedModel(["first"])) as stack:
        session = await stack.sessions.create()
        async for _ in stack.loop.handle_message(session.id, "one"):
            ...
    async with assemble(settings, model=ScriptedModel(["second"])) as stack:
        assert [found.id for found in await stack.sessions.list()] == [session.id]
        assert [message.content for message in await stack.sessions.messages(session.id)] == ["one", "first"]


async def test_each_user_has_notes_of_their_own(settings: Settings) -> None:
    async with assemble(settings, model=ScriptedModel([]), user="ann") as stack:
        await stack.memory.append("the key is under the mat")
        assert len(await stack.memory_of("ann").search("mat", 5)) == 1
        assert await stack.memory_of("bob").search("mat", 5) == []
        assert stack.loop is stack.loop_of("ann")
        assert stack.loop is not stack.loop_of("bob")


async def test_the_model_is_chosen_by_the_keys_that_people_have(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    async with assemble(settings) as stack:
        assert isinstance(stack.model, OfflineModel)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    async with assemble(settings) as stack:
        assert isinstance(stack.model, OpenAIModel)
        key = stack.settings.model.api_key
        assert key is not None
        assert key.get_secret_value() == "sk-secret-of-the-test"


def test_a_model_without_its_key_says_which_to_set(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        settings_with_model(settings, "claude-x")


async def test_a_key_never_reaches_the_transcript(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    settings = settings_with_model(settings)
    async with assemble(settings, model=ScriptedModel(["ok"])) as stack:
        session = await stack.sessions.create()
        async for _ in stack.loop.handle_message(session.id, "my key is sk-secret-of-the-test"):
            ...
        said = [message.content for message in await stack.sessions.messages(session.id)]
    assert said[0] == "my key is [redacted]"


async def test_a_database_that_cannot_be_made_stops_the_start(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    url = f"sqlite:///{tmp_path}/file/toolgate.db"
    settings = settings.model_copy(update={"database": DatabaseSettings(url=url)})
    with pytest.raises(StoreError, match="TOOLGATE_DATABASE_URL"):
        async with assemble(settings, model=ScriptedModel([])):
            raise AssertionError("it must not start")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ls", "{}"),
        ("grep", '{"pattern": "x"}'),
        ("write_file", '{"path": "a", "content": "b"}'),
        ("Bash", '{"command": "true"}'),
        ("current_time", "{}"),
    ],
)
async def test_a_call_after_the_end_says_that_the_toolset_is_closed(tmp_path: Path, name: str, arguments: str) -> None:
    async with toolgate.open(tmp_path, mode="coding") as toolset:
        pass
    result = await toolset.handle(ToolCall(id="1", name=name, arguments=arguments))
    assert result.response.error is not None
    assert result.response.error.code == "EXECUTION_ERROR"
    assert "This toolset is closed" in result.output
    assert "open it again" in result.output
    assert list(tmp_path.iterdir()) == []
