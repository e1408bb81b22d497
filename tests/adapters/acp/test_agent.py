"""An editor drives the agent: sessions, prompts, permissions, cancelling, earlier conversations."""

import asyncio
from pathlib import Path

import pytest
from acp import text_block
from acp.exceptions import RequestError
from acp.helpers import ContentBlock, embedded_text_resource, resource_block, resource_link_block

from tests.adapters.acp.kit import Editor, call, connected, opener
from tests.adapters.mcp_server.kit import Sleeper
from toolgate.testing import ScriptedModel


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


async def test_a_turn_is_shown_while_it_runs_and_an_edit_is_a_diff(root: Path) -> None:
    model = ScriptedModel(
        [["Reading.", call("read_file", path="a.txt")], [call("write_file", path="b.txt", content="x\n")], "Done."]
    )
    editor = Editor()
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
    assert answer.stop_reason == "end_turn"
    assert editor.text() == "Reading.Done."
    read, write = editor.calls("tool_call")
    assert (read.title, read.kind, read.locations[0].path) == ("read_file a.txt", "read", str(root / "a.txt"))
    assert (write.title, write.kind) == ("write_file b.txt", "edit")
    [(asked_in, question)] = editor.asked
    assert asked_in == session.session_id
    assert question.tool_call_id == "write_file-1"
    [diff] = [part for part in question.content if part.type == "diff"]
    assert (diff.path, diff.old_text, diff.new_text) == (str(root / "b.txt"), None, "x\n")
    finished = editor.calls("tool_call_update")
    assert [update.status for update in finished] == ["completed", "completed"]
    assert finished[1].content[0].new_text == "x\n"
    assert (root / "b.txt").read_text() == "x\n"
    assert editor.calls("usage_update")[-1].size > 0


async def test_s14_cancelling_ends_the_turn_and_its_processes(root: Path) -> None:
    sleeper = Sleeper()
    model = ScriptedModel([[call("Bash", command=sleeper.command)], "Never."])
    editor = Editor()
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        running = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("Go")]))
        await sleeper.begun()
        await agent.cancel(session_id=session.session_id)
        assert (await running).stop_reason == "cancelled"
    assert sleeper.processes() == []


async def test_a_session_is_listed_and_continued_with_what_was_said_in_it(root: Path) -> None:
    first = ScriptedModel([["Reading.", call("read_file", path="a.txt")], "It says one."])
    async with connected(Editor(), opener(lambda: first, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("What is in it?")])
    second = ScriptedModel(["Still one."])
    editor = Editor()
    async with connected(editor, opener(lambda: second, root.parent)) as agent:
        listed = await agent.list_sessions(cwd=str(root))
        assert [(row.session_id, row.title) for row in listed.sessions] == [(session.session_id, "What is in it?")]
        await agent.load_session(cwd=str(root), session_id=session.session_id)
        shown = ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
        assert editor.kinds() == shown
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Sure?")])
    assert [message["role"] for message in second.requests[0].messages if message["role"] != "system"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


async def test_files_in_a_prompt_reach_the_model(root: Path) -> None:
    model = ScriptedModel(["Seen."])
    async with connected(Editor(), opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        prompt: list[ContentBlock] = [
            text_block("Compare"),
            resource_link_block("a.txt", f"file://{root}/a.txt"),
            resource_block(embedded_text_resource(f"file://{root}/b.txt", "inside")),
        ]
        await agent.prompt(session_id=session.session_id, prompt=prompt)
    said = model.requests[0].messages[-1]["content"]
    assert said == f"Compare\n\n@{root}/a.txt\n\n@{root}/b.txt\n```\ninside\n```"


async def test_what_cannot_be_done_is_an_error_that_says_why(root: Path) -> None:
    async with connected(Editor(), opener(lambda: ScriptedModel([]), root.parent)) as agent:
        for cwd in ("relative", str(root / "missing"), str(root / "a.txt")):
            with pytest.raises(RequestError, match="absolute path of a directory"):
                await agent.new_session(cwd=cwd)
        with pytest.raises(RequestError, match="there is no session 'nothing'"):
            await agent.load_session(cwd=str(root), session_id="nothing")
        with pytest.raises(RequestError, match="not open here"):
            await agent.prompt(session_id="nothing", prompt=[text_block("Go")])
        session = await agent.new_session(cwd=str(root))
        with pytest.raises(RequestError, match="no text"):
            await agent.prompt(session_id=session.session_id, prompt=[text_block("  ")])


async def test_a_session_of_another_project_does_not_exist_here(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    async with connected(Editor(), opener(lambda: ScriptedModel(["Hi."]), root.parent)) as agent:
        session = await agent.new_session(cwd=str(other))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        with pytest.raises(RequestError, match="there is no session"):
            await agent.load_session(cwd=str(root), session_id=session.session_id)


async def test_commands_from_files_are_told_to_the_editor_and_expanded(root: Path) -> None:
    (root / ".toolgate/commands").mkdir(parents=True)
    (root / ".toolgate/commands/fix.md").write_text("---\nargument-hint: NUMBER\n---\nFix issue $1.")
    model = ScriptedModel(["Done."])
    editor = Editor()
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("/fix 7")])
    [update] = editor.calls("available_commands_update")
    [command] = update.available_commands
    assert (command.name, command.input.root.hint) == ("fix", "NUMBER")
    assert model.requests[0].messages[-1]["content"] == "Fix issue 7."
