"""The sub-agents of a chat by the ids of their tasks: what they are for, and which run in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.cli.chat.tool_card import TASK_TOOL, ToolCard, describe_call
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.cli.chat.canvas import Canvas


class TaskCards:
    """Gives later calls about a task its name, and keeps the cards of tasks that go on after their call."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._running: dict[str, ToolCard] = {}

    def begin_turn(self) -> None:
        """No task outlives its turn."""
        self._running.clear()

    def subject(self, name: str, arguments: dict[str, Any] | str) -> str:
        """Say what a call about an earlier task is about; empty if it is none."""
        if name != TASK_TOOL or not isinstance(arguments, dict) or arguments.get("agent"):
            return ""
        known = self._names.get(str(arguments.get("id")), "")
        prompt = arguments.get("prompt")
        if not known:
            return ""
        return describe_call(f"{known}: {prompt}" if isinstance(prompt, str) and prompt else known)

    def end_call(self, call_id: str, card: ToolCard) -> None:
        """Take note of a finished call."""
        data = {} if card.result is None else card.result.response.data
        task_id = data.get("task_id")
        if card.name != TASK_TOOL or not isinstance(task_id, str):
            return
        self._names.setdefault(task_id, describe_call(card.arguments))
        if data.get("running") is not True:
            self._running = {each: kept for each, kept in self._running.items() if _task_of(kept) != task_id}
        elif isinstance(card.arguments, dict) and card.arguments.get("background"):
            self._running[call_id] = card

    def print(self, call_id: str, text: str) -> None:
        """Add live output of a task in the background."""
        if call_id in self._running:
            self._running[call_id].print(text)

    def live(self, canvas: Canvas, spinner: str) -> list[str]:
        """Draw the tasks in the background: each with its last lines."""
        return [line for card in self._running.values() for line in card.live_in_background(canvas, spinner)]


def _task_of(card: ToolCard) -> Any:
    assert card.result is not None
    return card.result.response.data["task_id"]


def activity_words(what: str, text: str) -> str:
    """Say what the turn does in the person's language."""
    if what == "compacting":
        return translate("summarising the earlier part of the conversation")
    return translate("waiting for sub-agents in the background") if what == "waiting" else text
