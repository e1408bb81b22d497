"""What the card of a call says to a person."""

import io
from typing import Any

from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.tool_card import ToolCard
from toolgate.cli.visible import without_escapes
from toolgate.protocol.calls import ToolResult
from toolgate.protocol.envelope import ToolResponse


def card(name: str, arguments: dict[str, Any], data: dict[str, Any], text: str = "For the model.") -> ToolCard:
    response = ToolResponse.success(data, text)
    result = ToolResult(tool_call_id="1", is_error=False, response=response, output=text, message=text)
    return ToolCard(number=1, name=name, arguments=arguments, began=0.0, result=result)


def drawn(shown: ToolCard) -> str:
    return without_escapes("\n".join(shown.lines(Canvas(io.StringIO()))))


def test_a_question_and_an_address_are_named_without_the_name_of_their_argument() -> None:
    asked = card("ask_user", {"question": "Which one?", "options": ["a", "b"]}, {"answer": "a"})
    assert drawn(asked).startswith("✓ ask_user Which one?  ")
    fetched = card("web_fetch", {"url": "https://example.org/"}, {})
    assert drawn(fetched).startswith("✓ web_fetch https://example.org/  ")


def test_new_problems_are_shown_below_a_change_that_was_asked_about() -> None:
    found = [{"path": "a.py", "line": 4, "checker": "ruff", "message": "F401 `os` imported but unused"}]
    edited = card("edit_file", {"path": "a.py"}, {"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", "diagnostics": found})
    edited.asked = True
    assert drawn(edited).split("\n")[1:] == ["  ! a.py:4: F401 `os` imported but unused (ruff)"]


def test_what_another_tool_calls_diagnostics_is_left_alone() -> None:
    data = {"diff": "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", "diagnostics": ["mine"]}
    assert "!" not in drawn(card("my_tool", {}, data))


def test_the_answer_of_a_sub_agent_is_shown_without_the_words_for_the_model() -> None:
    done = card("task", {"agent": "general", "prompt": "x"}, {"task_id": "t", "result": "All is well."})
    assert drawn(done).split("\n")[1:] == ["  │ All is well."]


def test_what_a_tool_says_about_its_end_controls_no_terminal() -> None:
    hostile = "\x1b[2J\x9b31m\u202e"
    for data in ({"job_id": hostile}, {"exit_code": hostile}):
        shown = card("my_tool", {}, data)
        for lines in (shown.lines(Canvas(io.StringIO())), shown.whole(Canvas(io.StringIO()))):
            text = "\n".join(lines)
            assert not [mark for mark in ("\x1b[2J", "\x9b", "\u202e") if mark in text]
