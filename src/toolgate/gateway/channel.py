"""The sessions that are being watched here: one reader of the log for each, and everybody who watches."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from toolgate.gateway.projection import frame_id
from toolgate.gateway.watcher import TurnWatcher, Watcher
from toolgate.log import logger
from toolgate.protocol.ports import EventFeed, LoggedEvent

_BATCH = 64
_LOG_PATIENCE = 1.0
"""Seconds that the end of a failed turn waits for what comes before it in the log."""
_AGAIN = 1.0
"""Seconds before the log is read again after it could not be."""

RequestOf = Callable[[str], Awaitable[str | None]]
"""The key of the request that began a turn."""
FrameId = Callable[[str, str | None, str | None], str]
"""The `id` of a turn's frames, as JSON: of a session, the key of the request that began the turn, and the turn."""


class Channel:
    """One session: its log is read once, and what is new is handed to all who watch."""

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
        self._joining = 0
        self._ids: dict[str | None, str] = {}
        self._early: list[tuple[int, int, str]] = []
        """Text that came before the events that it comes after."""
        self._open: set[str] = set()
        """Calls that were announced and have not ended."""
        self._early_output: list[tuple[str, str, str, int]] = []
        self._seq = 0
        self._reader: asyncio.Task[None] | None = None
        self._moved: asyncio.Future[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()

    async def join(self, watcher: Watcher) -> None:
        """Send what the watcher has missed, then let it take part."""
        self._joining += 1
        try:
            if watcher.seq > 0:
                await self._enter(watcher)
            while not (self._reader is not None and watcher.seq >= self._seq):
                await watcher.outbox.room()
                batch = await self._feed.events(self.session_id, watcher.seq, limit=_BATCH)
                for event in batch:
                    self._note(event)
                    _show(watcher, event, await self._id_of(event))
                if not batch and self._reader is None:
                    self._begin(watcher.seq)
            if watcher.outbox.closed or (isinstance(watcher, TurnWatcher) and watcher.over):
                return
            self._watchers.append(watcher)
            base, text = self._feed.so_far(self.session_id)
            if text and base <= self._seq:
                watcher.text(base, 0, text)
            if failure := self._feed.failure(self.session_id):
                self._fail([watcher], failure)
        finally:
            self._joining -= 1
            self._rest()

    async def _enter(self, watcher: Watcher) -> None:
        """Look at the end of what the watcher has seen: what comes next may belong to the same turn and its calls."""
        after = max(0, watcher.seq - (_BATCH if watcher.details and self._reader is None else 1))
        seen = await self._feed.events(self.session_id, after, limit=watcher.seq - after)
        for event in seen:
            self._note(event)
        if seen:
            watcher.resumed(seen[-1], await self._id_of(seen[-1]))

    def _note(self, event: LoggedEvent) -> None:
        """Note which calls are open when reading begins: what they print from then on is passed on."""
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
        if watcher in self._watchers:
            self._watchers.remove(watcher)
            self._rest()

    async def told(self, seq: int) -> None:
        """Wait until everybody who watches was told of everything up to a number."""
        while self._joining or (self._watchers and self._seq < seq):
            if self._moved is None:
                self._moved = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._moved)

    def _move(self) -> None:
        """Let those look again who wait for the log to be told."""
        if self._moved is not None:
            self._moved.set_result(None)
            self._moved = None

    def _begin(self, seq: int) -> None:
        self._seq = seq
        self._reader = asyncio.get_running_loop().create_task(self._read(), name="toolgate-channel")
        self._feed.listen(self.session_id, self)

    def _rest(self) -> None:
        """Stop reading if nobody watches."""
        self._move()
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
                        self._tell(event, await self._id_of(event))
            except Exception as error:  # noqa: BLE001 - whatever it is, those who watch must hear of what comes next
                logger("gateway").error("log_not_read", session_id=self.session_id, error=type(error).__name__)
                await asyncio.sleep(_AGAIN)

    def _tell(self, event: LoggedEvent, id_json: str) -> None:
        self._seq = event.seq
        for watcher in self._watchers[:]:
            _show(watcher, event, id_json)
            if isinstance(watcher, TurnWatcher) and watcher.over:
                self._watchers.remove(watcher)
        if self._early and self._early[0][0] <= self._seq:
            early, self._early = self._early, []
            for base, offset, text in early:
                self.text(base, offset, text)
        self._outputs(event)
        if event.kind == "turn_finished":
            self._open.clear()
            self._early_output.clear()
            self._rest()
        self._move()

    def _outputs(self, event: LoggedEvent) -> None:
        """Note which calls are open, and pass on what they have printed."""
        if event.kind == "call_proposed":
            self._open.add(event.payload["call_id"])
            early, self._early_output = self._early_output, []
            for piece in early:
                self.output(*piece)
        elif event.kind == "call_finished":
            self._open.discard(event.payload["call_id"])

    def text(self, base: int, offset: int, text: str) -> None:
        """Pass on a piece of text, once everything before it was told."""
        if base > self._seq:
            self._early.append((base, offset, text))
            return
        for watcher in self._watchers:
            watcher.text(base, offset, text)

    def failed(self, position: int, message: str) -> None:
        """Tell that the turn has failed, after what the log has about it; one that cannot be read is not waited for."""
        telling = asyncio.get_running_loop().create_task(self._tell_failure(position, message))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    async def _tell_failure(self, position: int, message: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOG_PATIENCE):
                await self.told(position)
        self._fail(self._watchers[:], message)

    def _fail(self, watchers: Sequence[Watcher], message: str) -> None:
        for watcher in watchers:
            watcher.failed(message)
            if isinstance(watcher, TurnWatcher) and watcher.over:
                self.leave(watcher)

    def output(self, call_id: str, stream: str, text: str, left_out: int = 0) -> None:
        """Pass on what a command prints, once its call was told."""
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
    """Hand an event over; one that cannot be shown is left out, and what follows is not."""
    try:
        watcher.event(event, id_json)
    except Exception as error:  # noqa: BLE001 - an old or damaged event must not keep a session from being watched
        watcher.seq = event.seq
        logger("gateway").error("event_not_shown", kind=event.kind, seq=event.seq, error=type(error).__name__)


class Channels:
    """All sessions that are being watched here."""

    def __init__(
        self, feed: EventFeed, request_of: RequestOf, frame_id: FrameId = lambda _, key, turn_id: frame_id(key, turn_id)
    ) -> None:
        self._feed = feed
        self._request_of = request_of
        self._frame_id = frame_id
        self._channels: dict[str, Channel] = {}

    def of(self, session_id: str) -> Channel:
        """The channel of a session."""
        channel = self._channels.get(session_id)
        if channel is None:
            channel = Channel(session_id, self._feed, self._request_of, self._drop, self._frame_id)
            self._channels[session_id] = channel
        return channel

    def leave(self, watcher: Watcher) -> None:
        """Send a watcher nothing more."""
        channel = self._channels.get(watcher.session_id)
        if channel is not None:
            channel.leave(watcher)

    async def told(self, last_seq: Callable[[str], Awaitable[int]]) -> None:
        """Wait until everybody who watches was told of everything that is in the log now."""
        for session_id, channel in list(self._channels.items()):
            await channel.told(await last_seq(session_id))

    def _drop(self, channel: Channel) -> None:
        if self._channels.get(channel.session_id) is channel:
            del self._channels[channel.session_id]

    def __len__(self) -> int:
        return len(self._channels)
