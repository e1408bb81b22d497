"""Live text and output of the turns in this process, before they are in the log."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from toolgate.protocol.ports import LiveListener


@dataclass(slots=True)
class _LiveMessage:
    """The live text of one session's turn."""

    base: int = 0
    """The last event before the current message."""
    parts: list[str] = field(default_factory=list)
    length: int = 0
    open: bool = False
    """Whether the next piece belongs to the same message."""


class LiveTextRelay:
    """Passes text on as it arrives, and keeps the current message for listeners that join later.

    Text that arrives after `running_turn` has ended is not passed on. This happens when a forced shutdown cancels a
    turn; listeners find its last text in the log.
    """

    def __init__(self) -> None:
        self._messages: dict[str, _LiveMessage] = {}
        self._listeners: dict[str, list[LiveListener]] = {}
        self._failures: dict[str, str] = {}

    @contextlib.contextmanager
    def running_turn(self, session_id: str) -> Iterator[None]:
        """Mark that a turn of this session runs here while the block runs."""
        self._messages[session_id] = _LiveMessage()
        self._failures.pop(session_id, None)  # a turn starts only after the end of the last one is stored
        try:
            yield
        finally:
            del self._messages[session_id]

    def text(self, session_id: str, position: int, text: str) -> None:
        """Pass on a piece of text; `position` is the last event in the log at this moment."""
        message = self._messages.get(session_id)
        if message is None:
            return
        if not message.open:
            message.base, message.parts, message.length, message.open = position, [], 0, True
        offset = message.length
        message.parts.append(text)
        message.length += len(text)
        for listener in self._listeners.get(session_id, ()):
            listener.text(message.base, offset, text)

    def pause(self, session_id: str) -> None:
        """End the message: the next piece of text starts another one."""
        message = self._messages.get(session_id)
        if message is not None:
            message.open = False

    def output(self, session_id: str, call_id: str, stream: str, text: str) -> None:
        """Pass on the output of a command."""
        for listener in self._listeners.get(session_id, ()):
            listener.output(call_id, stream, text)

    def failed(self, session_id: str, position: int, message: str) -> None:
        """Report that the turn has failed while its end cannot be stored yet."""
        self._failures[session_id] = message
        for listener in list(self._listeners.get(session_id, ())):
            listener.failed(position, message)

    def failure(self, session_id: str) -> str:
        """Return why the last turn failed if its end may not be in the log yet."""
        return self._failures.get(session_id, "")

    def listen(self, session_id: str, listener: LiveListener) -> None:
        """Add a listener. It first receives the current message so far."""
        self._listeners.setdefault(session_id, []).append(listener)
        base, text = self.so_far(session_id)
        if text:
            listener.text(base, 0, text)

    def so_far(self, session_id: str) -> tuple[int, str]:
        """Return the current message so far, and the event before it."""
        message = self._messages.get(session_id)
        if message is None or not message.parts:
            return 0, ""
        message.parts = ["".join(message.parts)]
        return message.base, message.parts[0]

    def leave(self, session_id: str, listener: LiveListener) -> None:
        """Remove a listener."""
        listeners = self._listeners[session_id]
        listeners.remove(listener)
        if not listeners:
            del self._listeners[session_id]
