"""The page's view of a session: live command output, and text rendered as sanitised HTML."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolgate.gateway.outbox import MAX_QUEUED_TEXT
from toolgate.gateway.projection import as_json, detail_frame, quote_json
from toolgate.gateway.streaming import StreamingMarkdown
from toolgate.gateway.watcher import Watcher

if TYPE_CHECKING:
    from toolgate.gateway.outbox import Outbox
    from toolgate.protocol.ports import LoggedEvent


class DetailWatcher(Watcher):
    """Sends all details of a session."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int) -> None:
        super().__init__(session_id, outbox, after_seq, details=True)
        self._dropped: dict[str, int] = {}

    def output(self, call_id: str, stream: str, text: str, left_out: int = 0) -> None:
        """Send the output of a command; count what there is no room for."""
        dropped = self._dropped.pop(call_id, 0) + left_out
        data = f'"call_id":{quote_json(call_id)},"stream":"{stream}","text":'
        head = f'{{"type":"tool_output","id":{self._id},"data":{{{data}'
        tail = f',"dropped":{dropped}}}{self._tags}}}'
        writer = object() if dropped else (self, call_id, stream)  # output after a gap starts a frame of its own
        if not self.outbox.put_text(writer, lambda piece: f"{head}{quote_json(piece)}{tail}", text):
            self._dropped[call_id] = dropped + len(text)

    def event(self, event: LoggedEvent, id_json: str) -> None:
        """Handle an event of the log."""
        super().event(event, id_json)
        if event.kind == "call_finished":
            self._dropped.pop(event.payload["call_id"], None)


class RenderedWatcher(DetailWatcher):
    """Also sends text as `markdown` frames: patches of a message, a few times per second."""

    def __init__(self, session_id: str, outbox: Outbox, after_seq: int) -> None:
        super().__init__(session_id, outbox, after_seq)
        self._markdown = StreamingMarkdown()
        self._timer: asyncio.TimerHandle | None = None

    def show(self, text: str) -> bool:
        """Take a piece of text; it is sent a little later, together with what arrives until then."""
        self._markdown.feed(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._markdown.pause, self._flush)
        return True

    def _flush(self, *, last: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not last and self.outbox.size > MAX_QUEUED_TEXT // 2:  # the client is slow: send everything at once later
            self._timer = asyncio.get_running_loop().call_later(self._markdown.pause, self._flush)
            return
        patches = self._markdown.patches(last=last)
        if patches:
            data = as_json({"patches": patches})
            self.outbox.put(f'{{"type":"markdown","id":{self._id},"data":{data}{self._tags}}}')

    def failed(self, message: str) -> None:
        """Send all remaining text before the failure."""
        self._flush(last=True)
        self._markdown = StreamingMarkdown()
        super().failed(message)

    def _message(self, event: LoggedEvent) -> None:
        """Send the rest of a stored message, and start the next one."""
        self._markdown.feed(event.payload["content"][self._sent :])
        self._flush(last=True)
        self._markdown = StreamingMarkdown()
        self._sent, self._stored = 0, event.seq
        if (frame := detail_frame(event, self.session_id, self._id)) is not None:
            self.put(frame)
