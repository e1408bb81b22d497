"""Sub-agents in the chat: later calls name the task, and one in the background stays visible until it ends."""

import io
from typing import Any

from tests.cli.chat.test_tool_card import card
from toolgate.cli.chat.canvas import Canvas
from toolgate.cli.chat.task_cards import TaskCards
from toolgate.cli.visible import without_escapes

STARTED = {"agent": "general", "prompt": "Look at everything.", "description": "slow work", "background": True}
RUNS = {"task_id": "t-1", "running": True}


def live(tasks: TaskCards) -> list[str]:
    return [without_escapes(line).rstrip() for line in tasks.live(Canvas(io.StringIO()), "*")]


def started() -> TaskCards:
    tasks = TaskCards()
    tasks.end_call("c1", card("task", STARTED, RUNS))
    return tasks


def test_a_task_in_the_background_shows_its_last_lines_until_its_end_is_told() -> None:
    tasks = started()
    tasks.print("c1", "general: Bash make\n  1\n  2\n  3\n")
    assert live(tasks) == ["* task general: slow work", "  │   1", "  │   2", "  │   3"]

    tasks.end_call("c2", card("task", {"id": "t-1"}, {"task_id": "t-1", "running": True}))
    assert live(tasks)
    tasks.end_call("c3", card("task", {"id": "t-1"}, {"task_id": "t-1", "result": "Done."}))
    assert live(tasks) == []


def test_no_task_outlives_its_turn() -> None:
    tasks = started()
    tasks.begin_turn()
    assert live(tasks) == []


def test_a_later_call_is_named_after_its_task() -> None:
    about: dict[str, Any] = {"id": "t-1"}
    assert TaskCards().subject("task", about) == ""
    tasks = started()
    assert tasks.subject("task", about) == "general: slow work"
    assert tasks.subject("task", {**about, "prompt": "Go on."}) == "general: slow work: Go on."
    assert tasks.subject("other", about) == ""
