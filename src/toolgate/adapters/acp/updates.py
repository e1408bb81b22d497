"""What the editor is shown: the events of a turn, and an earlier conversation, as session updates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from acp.helpers import (
    plan_entry,
    start_tool_call,
    tool_content,
    tool_terminal_ref,
    update_agent_message_text,
    update_plan,
    update_tool_call,
    update_user_message,
    update_user_message_text,
)
from acp.schema import ToolCallLocation, ToolCallProgress, ToolCallStart, ToolKind

from toolgate.adapters.acp.content import as_content, picture_blocks, text_content
from toolgate.agent.events import AgentEvent, TextChunk, ToolCallInfo, ToolOutput, ToolResultInfo
from toolgate.protocol.calls import ToolDenied, ToolResult
from toolgate.protocol.content import ImageContent
from toolgate.runtime.policy.builtin import WRITERS
from toolgate.sessions import Message
from toolgate.text.visible import visible

KINDS: dict[str, ToolKind] = {
    "read_file": "read",
    "ls": "read",
    **dict.fromkeys(WRITERS, "edit"),
    "glob": "search",
    "grep": "search",
    "memory_search": "search",
    "Bash": "execute",
    "Terminal": "execute",
    "task": "think",
    "todo": "think",
    "web_fetch": "fetch",
}
_MAIN_ARGUMENTS = ("command", "pattern", "path", "query", "description", "prompt")
_MAX_TITLE = 200
_MAX_LIVE = 16 * 1024
"""Characters of live output that are kept for editors without terminals of agents."""


class Updates:
    """Converts the events of one turn. `terminals` says that the editor shows output as a terminal of the agent."""

    def __init__(self, root: Path, *, terminals: bool) -> None:
        self._root = root
        self._terminals = terminals
        self._printed: dict[str, str] = {}

    def of(self, event: AgentEvent) -> Iterator[Any]:
        """Yield the updates for one event."""
        if isinstance(event, TextChunk):
            yield update_agent_message_text(event.content)
        elif isinstance(event, ToolCallInfo):
            yield self._started(event.call_id, event.tool_name, event.arguments)
        elif isinstance(event, ToolOutput):
            yield self._output(event)
        elif isinstance(event, ToolDenied):
            text = f"{event.message} {event.next_action}"
            yield update_tool_call(event.call_id, status="failed", content=[text_content(text)])
        elif isinstance(event, ToolResultInfo):
            yield from self._finished(event.call_id, event.result)

    def _started(self, call_id: str, name: str, arguments: dict[str, Any] | str) -> ToolCallStart:
        start = started(self._root, call_id, name, arguments)
        if self._terminals and name == "Bash":
            start.content = [tool_terminal_ref(call_id)]
            start.field_meta = {"terminal_info": {"terminal_id": call_id, "cwd": str(self._root)}}
        return start

    def _output(self, event: ToolOutput) -> ToolCallProgress:
        if self._terminals:
            data = event.text.replace("\r\n", "\n").replace("\n", "\r\n")
            return _progress(event.call_id, {"terminal_output": {"terminal_id": event.call_id, "data": data}})
        self._printed[event.call_id] = (self._printed.get(event.call_id, "") + event.text)[-_MAX_LIVE:]
        return update_tool_call(
            event.call_id, status="in_progress", content=[text_content(self._printed[event.call_id])]
        )

    def _finished(self, call_id: str, result: ToolResult) -> Iterator[Any]:
        response = result.response
        has_terminal = self._terminals and "exit_code" in response.data
        self._printed.pop(call_id, None)
        update = update_tool_call(
            call_id,
            status="failed" if result.is_error else "completed",
            content=None if has_terminal else as_content(self._root, response.data, result.output, result.content),
        )
        if has_terminal:
            code = response.data["exit_code"]
            update.field_meta = {"terminal_exit": {"terminal_id": call_id, "exit_code": code, "signal": None}}
        yield update
        items = response.data.get("items")
        if isinstance(items, list) and not result.is_error:
            yield plan(items)


def started(root: Path, call_id: str, name: str, arguments: dict[str, Any] | str) -> ToolCallStart:
    """Return the start of a call: what it is about, and where."""
    given = arguments if isinstance(arguments, dict) else {}
    path = given.get("path")
    locations = [ToolCallLocation(path=str(root / path))] if isinstance(path, str) and path else None
    return start_tool_call(
        call_id,
        title(name, given),
        kind=KINDS.get(name, "other"),
        status="pending",
        locations=locations,
        raw_input=arguments,
    )


def title(name: str, arguments: dict[str, Any]) -> str:
    """Describe a call in one line."""
    about = next((arguments[key] for key in _MAIN_ARGUMENTS if isinstance(arguments.get(key), str)), "")
    if name == "Bash" and about:
        return _line(f"`{about}`")
    return _line(f"{name} {about}".strip())


def _line(text: str) -> str:
    line = visible(text.replace("\n", " ⏎ "), keep="")
    return line if len(line) <= _MAX_TITLE else line[:_MAX_TITLE] + "…"


def plan(items: Iterable[dict[str, Any]]) -> Any:
    """Return the list of work as the editor's plan."""
    return update_plan(plan_entry(str(item["content"]), status=item["status"]) for item in items)


def replay(root: Path, message: Message, pictures: Sequence[ImageContent] = ()) -> Iterator[Any]:
    """Yield a message of an earlier conversation: its text and pictures, and its calls or the result of one."""
    blocks = picture_blocks(pictures)
    if message.role == "tool":
        if message.tool_call_id:
            content = [text_content(message.content), *map(tool_content, blocks)]
            yield update_tool_call(message.tool_call_id, status="completed", content=content)
        return
    if message.content:
        text_update = update_user_message_text if message.role == "user" else update_agent_message_text
        yield text_update(message.content)
    yield from map(update_user_message, blocks)
    for call in message.tool_calls:
        yield started(root, call.id, call.name, _parsed(call.arguments))


def _parsed(arguments: str) -> dict[str, Any] | str:
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments


def _progress(call_id: str, meta: dict[str, Any]) -> ToolCallProgress:
    update = update_tool_call(call_id, status="in_progress")
    update.field_meta = meta
    return update
