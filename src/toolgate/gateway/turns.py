"""Runs turns in this process, and waits for the answers to their approval requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from toolgate.agent import TextChunk, ToolOutput, TurnFailed
from toolgate.agent.turn_result import STORE_ERROR
from toolgate.errors import SessionBusy
from toolgate.protocol.jsontext import is_unicode, scrub

if TYPE_CHECKING:
    from toolgate.agent import AgentEvent, AgentLoop, TurnStream
    from toolgate.gateway.live_text import LiveTextRelay
    from toolgate.protocol.content import StoredImage
    from toolgate.sessions import Event, SessionStore

Track = Callable[[str], AbstractContextManager[Callable[[], int]]]
"""Returns a function for the last event of a session that was written here."""


class LocalTurns:
    """The `TurnRunner` of one user. Its turns are tasks of this process and continue without watchers."""

    def __init__(
        self,
        loop: AgentLoop,
        live: LiveTextRelay,
        track: Track,
        max_running: int,
        count: Callable[[AgentEvent], None],
        running_sessions: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        self._loop = loop
        self._live = live
        self._track = track
        self._max_running = max_running
        self._count = count
        self._running_sessions = running_sessions
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()
        """Sessions whose turn is in the log."""

    @property
    def running(self) -> int:
        """Number of running turns."""
        return len(self._tasks)

    @property
    def unstored_sessions(self) -> Sequence[str]:
        """Sessions whose last turn has ended here while its end is not stored yet."""
        return self._loop.unstored_sessions

    async def submit(
        self,
        session_id: str,
        content: str | None,
        *,
        request_id: str,
        rewind_to: int | None = None,
        images: Sequence[StoredImage] = (),
    ) -> None:
        """Start a turn; without content it summarises the session."""
        if session_id in self._tasks or len(self._tasks) >= self._max_running:
            await self._wait_for_ended()
        if session_id not in self._tasks and len(self._tasks) >= self._max_running:
            raise SessionBusy(f"{self._max_running} turns are already running; wait until one has ended.")
        if content is None:
            stream = self._loop.compact(session_id, request_id=request_id)
        else:
            stream = self._loop.handle_message(
                session_id, content, request_id=request_id, rewind_to=rewind_to, images=images
            )
        if session_id in self._tasks:
            await stream.started()  # raises SessionBusy or RequestRepeated
            return
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.get_running_loop().create_task(self._run(session_id, stream, begun), name="toolgate-local-turn")
        self._tasks[session_id] = task
        task.add_done_callback(lambda _: self._ended(session_id))
        await asyncio.shield(begun)

    def _ended(self, session_id: str) -> None:
        self._tasks.pop(session_id, None)
        self._begun.discard(session_id)

    async def _wait_for_ended(self) -> None:
        """Wait for turns whose end is already in the log: a client that read it may send the next message at once."""
        if not self._begun:
            return
        begun = {session_id: self._tasks[session_id] for session_id in self._begun}
        running = set(await self._running_sessions())
        ended = [task for session_id, task in begun.items() if session_id not in running]
        if ended:
            await asyncio.wait(ended)

    async def _run(self, session_id: str, stream: TurnStream, begun: asyncio.Future[None]) -> None:
        with self._track(session_id) as position, self._live.running_turn(session_id):
            stream.tap = _live_events(self._live, session_id, position, self._live_output, self._count)
            stream.tap_children = self._live_output
            try:
                await stream.started()
            except BaseException as error:  # noqa: BLE001 - every error is raised in `submit`
                begun.set_exception(error)
                begun.exception()
                return
            begun.set_result(None)
            self._begun.add(session_id)
            await stream.wait()

    def _live_output(self, session_id: str, event: AgentEvent) -> None:
        """Pass the output of a command on at once."""
        if type(event) is ToolOutput:
            text = event.text if is_unicode(event.text) else scrub(event.text)
            self._live.output(session_id, event.call_id, event.stream, text)

    async def cancel(self, session_id: str) -> bool:
        """Cancel the running turn of a session."""
        return await self._loop.cancel(session_id)

    async def drain(self, seconds: float) -> int:
        """Wait for running turns; return how many are left after `seconds`."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)
        return len(self._tasks)

    async def cut_off(self, seconds: float) -> None:
        """Cancel running turns so that watchers get their last frames; wait at most `seconds`."""
        ends = [asyncio.ensure_future(self.cancel(session_id)) for session_id in list(self._tasks)]
        if ends:
            await asyncio.wait(ends, timeout=seconds)
            await asyncio.wait(list(self._tasks.values()) or ends, timeout=seconds)


def _live_events(
    live: LiveTextRelay,
    session_id: str,
    position: Callable[[], int],
    show_output: Callable[[str, AgentEvent], None],
    count: Callable[[AgentEvent], None],
) -> Callable[[AgentEvent], None]:
    """Return a callback that passes text and output on at once; everything else is in the log."""

    def handle(event: AgentEvent) -> None:
        if type(event) is TextChunk:
            text = event.content if is_unicode(event.content) else scrub(event.content)
            live.text(session_id, position(), text)
        elif type(event) is ToolOutput:
            show_output(session_id, event)
        else:
            live.pause(session_id)
            count(event)
            if type(event) is TurnFailed and event.code == STORE_ERROR:
                live.failed(session_id, position(), event.message)

    return handle


class LocalFeed:
    """The `EventFeed` of this process: the stored log, and the live text of its turns."""

    def __init__(self, sessions: SessionStore, live: LiveTextRelay) -> None:
        self._sessions = sessions
        self._live = live
        self.listen = live.listen
        self.leave = live.leave
        self.so_far = live.so_far
        self.failure = live.failure

    async def events(self, session_id: str, after_seq: int = 0, *, limit: int = 1000) -> Sequence[Event]:
        """Return events of the log after a sequence number."""
        return await self._sessions.events(session_id, after_seq, limit=limit)

    def follow(self, session_id: str, after_seq: int = 0) -> AsyncGenerator[Event, None]:
        """Yield events of the log after a sequence number, and new ones as they are added."""
        return self._sessions.follow(session_id, after_seq)
