"""What the editor is shown of a turn."""

from pathlib import Path

import pytest
from acp import text_block

from tests.adapters.acp.kit import Editor, call, connected, opener
from toolgate.testing import ScriptedModel


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\n")
    return project


async def test_output_is_shown_as_text_or_in_the_terminal_of_an_editor_that_has_one(root: Path) -> None:
    model = [[call("Bash", command="echo out; exit 3")], "Done."]
    for terminals in (False, True):
        editor = Editor()
        project = opener(lambda: ScriptedModel(model), root.parent)
        async with connected(editor, project, meta={"terminal_output": terminals}) as agent:
            session = await agent.new_session(cwd=str(root))
            await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        [start] = editor.calls("tool_call")
        assert start.title == "`echo out; exit 3`"
        last = editor.calls("tool_call_update")[-1]
        assert last.status == "completed"
        if terminals:
            assert start.content[0].terminal_id == start.field_meta["terminal_info"]["terminal_id"]
            printed = [update.field_meta["terminal_output"]["data"] for update in editor.calls("tool_call_update")[:-1]]
            assert "".join(printed) == "out\r\n"
            assert last.field_meta["terminal_exit"]["exit_code"] == 3
        else:
            assert "out" in last.content[0].content.text


async def test_the_list_of_work_is_the_editor_s_plan(root: Path) -> None:
    items = [{"content": "look", "status": "completed"}, {"content": "mend", "status": "in_progress"}]
    model = ScriptedModel([[call("todo", items=items)], "Done."])
    editor = Editor()
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
    [plan] = editor.calls("plan")
    assert [(entry.content, entry.status) for entry in plan.entries] == [("look", "completed"), ("mend", "in_progress")]
