"""One client's view of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.gateway.projection import Frame, chunk, detail_frame, ending_frames, failure_frames, plain_frame, quoted
from toolgate.protocol.ports import LoggedEvent

if TYPE_CHECKING:
    from toolgate.gateway.outbox import Outbox


class Watcher:
    """Turns what happens in a session into frames for one client, each piece of text exactly once."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int, *, details: bool = False) -> None:
        self.session_id = session_id
        self.outbox = outbox
        self.seq = after_seq
        """The last event that was dealt with."""
        self.details = details
        self.turn_id: str | None = None
        self._id = "null"
        self._tags = ""
        self._sent = 0
        """Characters of the message in the making that were sent."""
        self._stored = after_seq
        """The last event that had all the text before it."""
        self._latest: tuple[str | None, str] = None, "null"
        """The turn that was seen last, and the `id` of its frames."""
        self._ended: str | None = None
        """The turn whose end was sent last."""

    def wants(self, _event: LoggedEvent) -> bool:
        """Whether an event is for this client."""
        return True

    def event(self, event: LoggedEvent, id_json: str) -> None:
        """Deal with an event of the log."""
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
            self._again(event.seq)
        if event.kind == "turn_finished":
            self._sent, self._stored = 0, event.seq
            self._end(event.turn_id, ending_frames(event, self.session_id, id_json))

    def failed(self, message: str) -> None:
        """Tell the end of a turn that cannot be stored yet; once it is in the log it is not told again."""
        turn_id, id_json = self._latest
        if turn_id is not None:
            self._end(turn_id, failure_frames("INTERNAL_ERROR", message, self.session_id, turn_id, id_json))

    def _end(self, turn_id: str | None, frames: list[Frame]) -> None:
        if turn_id != self._ended:
            self._ended = turn_id
            for frame in frames:
                self.put(frame)

    def resumed(self, event: LoggedEvent, id_json: str) -> None:
        """Go on after an event that was sent before: what comes next may belong to the same turn."""
        self.enter(event.turn_id, id_json)
        if event.kind == "turn_finished":
            self._ended = event.turn_id

    def _again(self, seq: int) -> None:
        """Another process goes on with the turn: what the last one was saying is lost, and said again."""
        if self._sent:
            self.show("\n\n")
        self._sent, self._stored = 0, seq

    def enter(self, turn_id: str | None, id_json: str) -> None:
        """What comes next belongs to this turn."""
        if turn_id is not None:
            self._latest = turn_id, id_json
        if turn_id != self.turn_id or id_json != self._id:
            self.turn_id, self._id = turn_id, id_json
            if self.details:
                turn = "null" if turn_id is None else quoted(turn_id)
                self._tags = f',"session_id":{quoted(self.session_id)},"turn_id":{turn}'

    def put(self, frame: Frame) -> None:
        """Send a frame."""
        self.outbox.put(frame.tagged if self.details else frame.plain)

    def text(self, base: int, offset: int, text: str) -> None:
        """Deal with a piece of text in the making; what cannot be sent now comes from the log."""
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
        """Deal with what a command prints."""

    def _message(self, event: LoggedEvent) -> None:
        """The message is stored: send what is missing of it."""
        rest = event.payload["content"][self._sent :]
        if rest:
            self.outbox.put(self._build(rest))
        self._sent, self._stored = 0, event.seq
        if self.details and (frame := detail_frame(event, self.session_id, self._id)) is not None:
            self.put(frame)


class TurnWatcher(Watcher):
    """The view of whoever began a turn and watches nothing else: that turn, up to its end."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int, request_key: str, id_json: str) -> None:
        """`id_json` is the `id` of the request, as JSON, which the turn's frames carry for this client."""
        super().__init__(session_id, outbox, after_seq)
        self._request_key = request_key
        self._request_id = id_json
        self._mine: str | None = None
        self.over = False

    def event(self, event: LoggedEvent, id_json: str) -> None:
        """Deal with an event of the log, under the `id` of this client's own request."""
        super().event(event, self._request_id)

    @property
    def found(self) -> bool:
        """Whether the turn has begun in front of this watcher."""
        return self._mine is not None

    def wants(self, event: LoggedEvent) -> bool:
        """Whether it is of that turn."""
        if event.kind == "turn_started" and event.payload.get("request_id") == self._request_key:
            self._mine = event.turn_id
        wanted = self._mine is not None and event.turn_id == self._mine and not self.over
        self.over = self.over or (wanted and event.kind == "turn_finished")
        return wanted

    def failed(self, message: str) -> None:
        """The turn has failed, if it is that one."""
        if self._mine is not None and not self.over:
            super().failed(message)
            self.over = True

    def text(self, base: int, offset: int, text: str) -> None:
        """Text of that turn."""
        if self._mine is not None and not self.over:
            super().text(base, offset, text)
