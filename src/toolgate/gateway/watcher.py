"""One client's view of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.gateway.projection import (
    EncodedFrame,
    chunk,
    deleted_frame,
    detail_frame,
    end_frames,
    failure_frames,
    plain_frame,
    quote_json,
)
from toolgate.protocol.ports import LoggedEvent

if TYPE_CHECKING:
    from toolgate.gateway.outbox import Outbox


class Watcher:
    """Converts what happens in a session into frames for one client, with each piece of text exactly once."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int, *, details: bool = False) -> None:
        self.session_id = session_id
        self.outbox = outbox
        self.seq = after_seq
        """The last event that was handled."""
        self.details = details
        self.turn_id: str | None = None
        self._id = "null"
        self._tags = ""
        self._sent = 0
        """Characters of the current message that were sent."""
        self._stored = after_seq
        """The last event before which all text was sent."""
        self._latest: tuple[str | None, str] = None, "null"
        """The last turn, and the `id` of its frames."""
        self._ended: str | None = None
        """The turn whose end was sent last."""

    def wants(self, _event: LoggedEvent) -> bool:
        """Whether an event is for this client."""
        return True

    def event(self, event: LoggedEvent, id_json: str) -> None:
        """Handle an event of the log."""
        self.seq = event.seq
        if not self.wants(event):
            return
        self.enter(event.turn_id, id_json)
        if event.kind == "message" and event.payload.get("role") == "assistant":
            self._message(event)
        else:
            frame = plain_frame(event, self.session_id, id_json)
            if frame is None and self.details:
                frame = detail_frame(event, self.session_id, id_json)
            if frame is not None:
                self.put(frame)
        if event.kind == "turn_resumed":
            self._restart_message(event.seq)
        if event.kind == "turn_finished":
            self._sent, self._stored = 0, event.seq
            self._end(event.turn_id, end_frames(event, self.session_id, id_json))

    def failed(self, message: str) -> None:
        """Send the end of a turn that cannot be stored yet. It is not sent again when it is in the log."""
        turn_id, id_json = self._latest
        if turn_id is not None:
            self._end(turn_id, failure_frames("INTERNAL_ERROR", message, self.session_id, turn_id, id_json))

    def deleted(self) -> None:
        """Tell a client that asked for details that the session was deleted."""
        if self.details:
            self.put(deleted_frame(self.session_id))

    def _end(self, turn_id: str | None, frames: list[EncodedFrame]) -> None:
        if turn_id != self._ended:
            self._ended = turn_id
            for frame in frames:
                self.put(frame)

    def resumed(self, event: LoggedEvent, id_json: str) -> None:
        """Resume after an event that was sent before: the next events may belong to the same turn."""
        self.enter(event.turn_id, id_json)
        if event.kind == "turn_finished":
            self._ended = event.turn_id

    def _restart_message(self, seq: int) -> None:
        """Reset the live text when another process resumes the turn and writes the message again."""
        if self._sent:
            self.show("\n\n")
        self._sent, self._stored = 0, seq

    def enter(self, turn_id: str | None, id_json: str) -> None:
        """Start to send frames of this turn."""
        if turn_id is not None:
            self._latest = turn_id, id_json
        if turn_id != self.turn_id or id_json != self._id:
            self.turn_id, self._id = turn_id, id_json
            if self.details:
                turn = "null" if turn_id is None else quote_json(turn_id)
                self._tags = f',"session_id":{quote_json(self.session_id)},"turn_id":{turn}'

    def put(self, frame: EncodedFrame) -> None:
        """Send a frame."""
        self.outbox.put(frame.tagged if self.details else frame.plain)

    def text(self, base: int, offset: int, text: str) -> None:
        """Handle a piece of live text. What cannot be sent now is sent from the log later."""
        if base < self._stored or offset > self._sent:
            return
        fresh = text[self._sent - offset :] if offset < self._sent else text
        if fresh and self.show(fresh):
            self._sent += len(fresh)

    def show(self, text: str) -> bool:
        """Send a piece of text if there is room for it."""
        return self.outbox.put_text(self._id, self._build, text)

    def _build(self, text: str) -> str:
        return chunk(self._id, text, self._tags)

    def output(self, call_id: str, stream: str, text: str, left_out: int = 0) -> None:
        """Ignore the output of a command."""

    def _message(self, event: LoggedEvent) -> None:
        """Send the rest of a stored message."""
        rest = event.payload["content"][self._sent :]
        if rest:
            self.outbox.put(self._build(rest))
        self._sent, self._stored = 0, event.seq
        if self.details and (frame := detail_frame(event, self.session_id, self._id)) is not None:
            self.put(frame)


class TurnWatcher(Watcher):
    """The view of a client that started a turn and watches nothing else: that turn until its end."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int, request_key: str, id_json: str) -> None:
        """`id_json` is the `id` of the client's request, which the turn's frames carry."""
        super().__init__(session_id, outbox, after_seq)
        self._request_key = request_key
        self._request_id = id_json
        self._own_turn: str | None = None
        self.over = False

    def event(self, event: LoggedEvent, id_json: str) -> None:
        """Handle an event of the log, with the `id` of this client's request."""
        super().event(event, self._request_id)

    @property
    def found(self) -> bool:
        """Whether the turn has started."""
        return self._own_turn is not None

    def wants(self, event: LoggedEvent) -> bool:
        """Whether the event belongs to that turn."""
        if event.kind == "turn_started" and event.payload.get("request_id") == self._request_key:
            self._own_turn = event.turn_id
        wanted = self._own_turn is not None and event.turn_id == self._own_turn and not self.over
        self.over = self.over or (wanted and event.kind == "turn_finished")
        return wanted

    def failed(self, message: str) -> None:
        """Handle the failure of that turn."""
        if self._own_turn is not None and not self.over:
            super().failed(message)
            self.over = True

    def text(self, base: int, offset: int, text: str) -> None:
        """Handle text of that turn."""
        if self._own_turn is not None and not self.over:
            super().text(base, offset, text)
