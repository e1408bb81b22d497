"""A session with watchers: its log is read once and passed to all of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from toolgate.gateway.watcher import TurnWatcher, Watcher
from toolgate.log import logger
from toolgate.protocol.ports import EventFeed, LoggedEvent

_BATCH = 64
_FAILURE_DELAY = 1.0
"""Maximum seconds that the end of a failed turn waits for earlier events of the log."""
_RETRY_SECONDS = 1.0
"""Seconds before the log is read again after a failure."""

RequestOf = Callable[[str], Awaitable[str | None]]
"""Returns the key of the request that started a turn."""
FrameId = Callable[[str, str | None, str | None], str]
"""Returns the `id` of a turn's frames as JSON, from the session, the request's key and the turn."""


class Channel:
    """One session: reads its log once and passes new events to all watchers."""

    def __init__(
        self,
        session_id: str,
        feed: EventFeed,
        request_of: RequestOf,
        unused: Callable[[Channel], None],
        frame_id: FrameId,
    ) -> None:
        self.session_id = session_id
        self._feed = feed
        self._request_of = request_of
        self._unused = unused
        self._frame_id = frame_id
        self._watchers: list[Watcher] = []
        self._joining: set[Watcher] = set()
        """Watchers that are being sent what they have missed."""
        self._ids: dict[str | None, str] = {}
        self._early_text: list[tuple[int, int, str]] = []
        """Text that arrived before the events that precede it."""
        self._open: set[str] = set()
        """Calls that have started and not finished."""
        self._early_output: list[tuple[str, str, str, int]] = []
        self._seq = 0
        self._reader: asyncio.Task[None] | None = None
        self._progress: asyncio.Future[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()

    async def join(self, watcher: Watcher) -> None:
        """Send the watcher what it has missed, then include it in new events."""
        self._joining.add(watcher)
        try:
            await self._replay(watcher)
            left = watcher not in self._joining
            if left or watcher.outbox.closed or (isinstance(watcher, TurnWatcher) and watcher.over):
                return
            self._watchers.append(watcher)
            base, text = self._feed.so_far(self.session_id)
            if text and base <= self._seq:
                watcher.text(base, 0, text)
            if failure := self._feed.failure(self.session_id):
                self._fail([watcher], failure)
        finally:
            self._joining.discard(watcher)
            self._stop_if_unwatched()

    async def _replay(self, watcher: Watcher) -> None:
        """Send the watcher the events that it has missed, unless it leaves meanwhile."""
        if watcher.seq > 0:
            await self._enter(watcher)
        while watcher in self._joining and not (self._reader is not None and watcher.seq >= self._seq):
            await watcher.outbox.room()
            batch = await self._feed.events(self.session_id, watcher.seq, limit=_BATCH)
            for event in batch:
                self._track(event)
                id_json = await self._id_of(event)
                if watcher not in self._joining:
                    return
                _show(watcher, event, id_json)
            if not batch and self._reader is None:
                self._start(watcher.seq)

    async def _enter(self, watcher: Watcher) -> None:
        """Read the last events that the watcher has seen: the next ones may belong to the same turn and calls."""
        after = max(0, watcher.seq - (_BATCH if watcher.details and self._reader is None else 1))
        seen = await self._feed.events(self.session_id, after, limit=watcher.seq - after)
        for event in seen:
            self._track(event)
        if seen:
            watcher.resumed(seen[-1], await self._id_of(seen[-1]))

    def _track(self, event: LoggedEvent) -> None:
        """Track which calls are open when reading starts: their output is passed on from then on."""
        if self._reader is not None:
            return
        if event.kind == "call_proposed":
            self._open.add(event.payload.get("call_id", ""))
        elif event.kind == "call_finished":
            self._open.discard(event.payload.get("call_id", ""))
        elif event.kind == "turn_finished":
            self._open.clear()

    def leave(self, watcher: Watcher) -> None:
        """Send the watcher nothing more."""
        self._joining.discard(watcher)
        if watcher in self._watchers:
            self._watchers.remove(watcher)
            self._stop_if_unwatched()

    async def wait_until_sent(self, seq: int) -> None:
        """Wait until all watchers have received all events up to `seq`."""
        while self._joining or (self._watchers and self._seq < seq):
            if self._progress is None:
                self._progress = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._progress)

    def _wake(self) -> None:
        """Wake the tasks that wait in `wait_until_sent`."""
        if self._progress is not None:
            self._progress.set_result(None)
            self._progress = None

    def _start(self, seq: int) -> None:
        self._seq = seq
        self._reader = asyncio.get_running_loop().create_task(self._read(), name="toolgate-channel")
        self._feed.listen(self.session_id, self)

    def _stop_if_unwatched(self) -> None:
        """Stop reading if there are no watchers."""
        self._wake()
        if self._watchers or self._joining:
            return
        if self._reader is not None:
            self._feed.leave(self.session_id, self)
            self._reader.cancel()
            self._reader = None
        self._unused(self)

    async def _read(self) -> None:
        while True:
            try:
                async with contextlib.aclosing(self._feed.follow(self.session_id, self._seq)) as events:
                    async for event in events:
                        self._deliver(event, await self._id_of(event))
            except Exception as error:  # noqa: BLE001 - after any failure the watchers must still get the next events
                logger("gateway").error("log_not_read", session_id=self.session_id, error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)

    def _deliver(self, event: LoggedEvent, id_json: str) -> None:
        self._seq = event.seq
        for watcher in self._watchers[:]:
            _show(watcher, event, id_json)
            if isinstance(watcher, TurnWatcher) and watcher.over:
                self._watchers.remove(watcher)
        if self._early_text and self._early_text[0][0] <= self._seq:
            early, self._early_text = self._early_text, []
            for base, offset, text in early:
                self.text(base, offset, text)
        self._flush_output(event)
        if event.kind == "turn_finished":
            self._open.clear()
            self._early_output.clear()
            self._stop_if_unwatched()
        self._wake()

    def _flush_output(self, event: LoggedEvent) -> None:
        """Track open calls, and pass on their early output."""
        if event.kind == "call_proposed":
            self._open.add(event.payload["call_id"])
            early, self._early_output = self._early_output, []
            for piece in early:
                self.output(*piece)
        elif event.kind == "call_finished":
            self._open.discard(event.payload["call_id"])

    def text(self, base: int, offset: int, text: str) -> None:
        """Pass on a piece of text after the events that precede it."""
        if base > self._seq:
            self._early_text.append((base, offset, text))
            return
        for watcher in self._watchers:
            watcher.text(base, offset, text)

    def failed(self, position: int, message: str) -> None:
        """Send the failure of a turn after its events. If the log cannot be read, do not wait for it."""
        task = asyncio.get_running_loop().create_task(self._send_failure(position, message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_failure(self, position: int, message: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAILURE_DELAY):
                await self.wait_until_sent(position)
        self._fail(self._watchers[:], message)

    def deleted(self) -> None:
        """Tell all watchers that the session was deleted, and stop reading its log."""
        for watcher in [*self._watchers, *self._joining]:
            watcher.deleted()
            self.leave(watcher)

    def _fail(self, watchers: Sequence[Watcher], message: str) -> None:
        for watcher in watchers:
            watcher.failed(message)
            if isinstance(watcher, TurnWatcher) and watcher.over:
                self.leave(watcher)

    def output(self, call_id: str, stream: str, text: str, left_out: int = 0) -> None:
        """Pass on the output of a command after its call was announced."""
        if call_id not in self._open:
            if len(self._early_output) < _BATCH:
                self._early_output.append((call_id, stream, text, left_out))
            return
        for watcher in self._watchers:
            watcher.output(call_id, stream, text, left_out)

    async def _id_of(self, event: LoggedEvent) -> str:
        turn_id = event.turn_id
        found = self._ids.get(turn_id)
        if found is None:
            if event.kind == "turn_started":
                request = event.payload.get("request_id")
            else:
                request = None if turn_id is None else await self._request_of(turn_id)
            found = self._ids[turn_id] = self._frame_id(self.session_id, request, turn_id)
        if event.kind == "turn_finished":
            del self._ids[turn_id]
        return found


def _show(watcher: Watcher, event: LoggedEvent, id_json: str) -> None:
    """Pass one event to a watcher. An event that cannot be shown is skipped."""
    try:
        watcher.event(event, id_json)
    except Exception as error:  # noqa: BLE001 - an old or damaged event must not stop the session's watchers
        watcher.seq = event.seq
        logger("gateway").error("event_not_shown", kind=event.kind, seq=event.seq, error=type(error).__name__)
