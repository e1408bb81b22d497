"""Shows the activity of a sub-agent as live output of the call that started it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolgate.agent.events import AgentEvent, ToolCallInfo, ToolOutput

_MAX_CHARACTERS = 160
_INDENT = "  "


def nested(call_id: str, agent: str, emit: Callable[[AgentEvent], None] | None) -> Callable[[AgentEvent], None]:
    """Return a listener that turns a sub-agent's events into output of its call. Without `emit` they are dropped."""

    def forward(event: AgentEvent) -> None:
        if emit is None or not call_id:
            return
        if isinstance(event, ToolCallInfo):
            line = f"{agent}: {event.tool_name} {_short(event.arguments)}".rstrip()
            emit(ToolOutput(call_id=call_id, stream="stdout", text=f"{line}\n"))
        elif isinstance(event, ToolOutput):
            text = "".join(_INDENT + line for line in event.text.splitlines(keepends=True))
            emit(ToolOutput(call_id=call_id, stream=event.stream, text=text))

    return forward


def _short(arguments: dict[str, Any] | str) -> str:
    """The arguments of a call in one line."""
    if isinstance(arguments, dict):
        arguments = " ".join(str(value) for value in arguments.values() if isinstance(value, (str, int)))
    text = " ".join(arguments.split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"
