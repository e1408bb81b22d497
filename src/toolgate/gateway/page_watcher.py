"""The page's view of a session: what commands print as it comes, and text as HTML, rendered and sanitised here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolgate.gateway.outbox import MOST_TEXT
from toolgate.gateway.projection import as_json, detail_frame, quoted
from toolgate.gateway.streaming import StreamingMarkdown
from toolgate.gateway.watcher import Watcher

if TYPE_CHECKING:
    from toolgate.gateway.outbox import Outbox
    from toolgate.protocol.ports import LoggedEvent


class DetailWatcher(Watcher):
    """Everything that is known about a session."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int) -> None:
        super().__init__(session_id, outbox, after_seq, details=True)
        self._dropped: dict[str, int] = {}

    def output(self, call_id: str, stream: str, text: str, left_out: int = 0) -> None:
        """Pass on what a command prints; what there is no room for is counted."""
        dropped = self._dropped.pop(call_id, 0) + left_out
        head = (
            f'{{"type":"tool_output","id":{self._id},"data":{{"call_id":{quoted(call_id)},"stream":"{stream}","text":'
        )
        tail = f',"dropped":{dropped}}}{self._tags}}}'
        writer = object() if dropped else (self, call_id, stream)  # a piece with a gap before it is a frame of its own
        if not self.outbox.put_text(writer, lambda piece: f"{head}{quoted(piece)}{tail}", text):
            self._dropped[call_id] = dropped + len(text)

    def event(self, event: LoggedEvent, id_json: str) -> None:
        """Deal with an event of the log."""
        super().event(event, id_json)
        if event.kind == "call_finished":
            self._dropped.pop(event.payload["call_id"], None)


class RenderedWatcher(DetailWatcher):
    """The same with text as `markdown` frames: patches of a message, a few times a second."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int) -> None:
        super().__init__(session_id, outbox, after_seq)
        self._message_so_far = StreamingMarkdown()
        self._timer: asyncio.TimerHandle | None = None

    def show(self, text: str) -> bool:
        """Take a piece of text; what is to be seen of it is sent a little later, with what comes until then."""
        self._message_so_far.feed(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._message_so_far.pause, self._flush)
        return True

    def _flush(self, *, last: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not last and self.outbox.size > MOST_TEXT // 2:  # the client is behind: later, and then all of it at once
            self._timer = asyncio.get_running_loop().call_later(self._message_so_far.pause, self._flush)
            return
        patches = self._message_so_far.patches(last=last)
        if patches:
            data = as_json({"patches": patches})
            self.outbox.put(f'{{"type":"markdown","id":{self._id},"data":{data}{self._tags}}}')

    def failed(self, message: str) -> None:
        """Show all of the text that has come before the end is told."""
        self._flush(last=True)
        self._message_so_far = StreamingMarkdown()
        super().failed(message)

    def _message(self, event: LoggedEvent) -> None:
        """The message is stored: show what is missing of it, and begin the next one."""
        self._message_so_far.feed(event.payload["content"][self._sent :])
        self._flush(last=True)
        self._message_so_far = StreamingMarkdown()
        self._sent, self._stored = 0, event.seq
        if (frame := detail_frame(event, self.session_id, self._id)) is not None:
            self.put(frame)
