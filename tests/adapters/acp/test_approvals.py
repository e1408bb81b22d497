"""Permission requests: only an option that allows is a yes."""

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


@pytest.mark.parametrize("choose", ["reject", None, "allow_always", "something else"])
async def test_a11_only_an_option_that_allows_is_a_yes(root: Path, choose: str | None) -> None:
    model = ScriptedModel([[call("Bash", command="rm a.txt")], "Then not."])
    editor = Editor(choose)
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
    assert editor.options == [["allow_once", "allow_session", "reject"]]
    assert [update.status for update in editor.calls("tool_call_update")] == ["failed"]
    assert (root / "a.txt").exists()


async def test_a_call_that_was_allowed_for_the_session_is_not_asked_about_again(root: Path) -> None:
    command = call("Bash", command="rm -f c.txt")
    model = ScriptedModel([[command], [command], "Done."])
    editor = Editor("allow_session")
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
    assert len(editor.asked) == 1


@pytest.mark.parametrize(
    ("choose", "output"),
    [("answer_1", "The user answered: PostgreSQL"), ("reject", "declined to answer"), ("allow_once", "declined")],
)
async def test_a_question_with_options_is_asked_and_only_an_option_is_an_answer(
    root: Path, choose: str, output: str
) -> None:
    asks = call("ask_user", question="Which database?", options=["SQLite", "PostgreSQL"])
    model = ScriptedModel([[asks], "Done."])
    editor = Editor(choose)
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
    assert editor.options == [["answer_0", "answer_1", "reject"]]
    assert output in model.requests[1].messages[-1]["content"]


async def test_a_question_that_needs_a_text_is_not_asked_and_says_why(root: Path) -> None:
    model = ScriptedModel([[call("ask_user", question="Why?")], "Done."])
    editor = Editor("allow_once")
    async with connected(editor, opener(lambda: model, root.parent)) as agent:
        session = await agent.new_session(cwd=str(root))
        await agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
    assert editor.asked == []
    assert "the editor has no field for an answer" in model.requests[1].messages[-1]["content"]
