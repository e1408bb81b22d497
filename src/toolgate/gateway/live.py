"""What running turns say before it is in the log: text and output in the making, in this process only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from toolgate.protocol.ports import LiveListener


@dataclass(slots=True)
class _Voice:
    """The turn that runs in a session."""

    base: int = 0
    """The last event before the message that is being written."""
    parts: list[str] = field(default_factory=list)
    length: int = 0
    open: bool = False
    """Whether the next piece belongs to the same message as the last one."""


class Live:
    """Passes pieces of text on as they come, and keeps those of the current message for whoever joins late."""

    def __init__(self) -> None:
        self._voices: dict[str, _Voice] = {}
        self._listeners: dict[str, list[LiveListener]] = {}
        self._failures: dict[str, str] = {}

    @contextlib.contextmanager
    def speaking(self, session_id: str) -> Iterator[None]:
        """A turn of this session runs here for as long as the block lasts."""
        self._voices[session_id] = _Voice()
        self._failures.pop(session_id, None)  # no turn begins before the end of the last one is stored
        try:
            yield
        finally:
            del self._voices[session_id]

    def text(self, session_id: str, position: int, text: str) -> None:
        """Pass on a piece of text; `position` is the last event of the log at this moment."""
        voice = self._voices[session_id]
        if not voice.open:
            voice.base, voice.parts, voice.length, voice.open = position, [], 0, True
        offset = voice.length
        voice.parts.append(text)
        voice.length += len(text)
        for listener in self._listeners.get(session_id, ()):
            listener.text(voice.base, offset, text)

    def pause(self, session_id: str) -> None:
        """The message is over: the next piece of text begins another one."""
        self._voices[session_id].open = False

    def output(self, session_id: str, call_id: str, stream: str, text: str) -> None:
        """Pass on what a command prints."""
        for listener in self._listeners.get(session_id, ()):
            listener.output(call_id, stream, text)

    def failed(self, session_id: str, position: int, message: str) -> None:
        """Tell that the turn has failed; its end cannot be stored yet."""
        self._failures[session_id] = message
        for listener in list(self._listeners.get(session_id, ())):
            listener.failed(position, message)

    def failure(self, session_id: str) -> str:
        """Why the last turn failed, if its end may not be in the log yet."""
        return self._failures.get(session_id, "")

    def listen(self, session_id: str, listener: LiveListener) -> None:
        """Tell the listener from now on; first of all, the message that is being written, as far as it is."""
        self._listeners.setdefault(session_id, []).append(listener)
        base, text = self.so_far(session_id)
        if text:
            listener.text(base, 0, text)

    def so_far(self, session_id: str) -> tuple[int, str]:
        """The message that is being written, and the event that it comes after."""
        voice = self._voices.get(session_id)
        if voice is None or not voice.parts:
            return 0, ""
        voice.parts = ["".join(voice.parts)]
        return voice.base, voice.parts[0]

    def leave(self, session_id: str, listener: LiveListener) -> None:
        """Tell the listener no more."""
        left = self._listeners[session_id]
        left.remove(listener)
        if not left:
            del self._listeners[session_id]
