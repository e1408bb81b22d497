"""`TurnStream`: the events of a turn. The turn is a separate task; this object subscribes to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Self

from toolgate.agent.events import AgentEvent, TextChunk

_BACKLOG = 1000
"""Events that wait for a slow reader before further text is joined into one event."""

Start = Callable[["TurnStream"], Coroutine[Any, Any, None]]


class TurnStream:
    """The events of one turn. The turn starts with the first `anext`.

    Leaving the iteration (`break`, `aclose`) does not stop the turn: it continues to its end, and everything is stored.
    Cancelling the task that iterates cancels the turn; the cancellation is raised after the turn has ended properly.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._events: deque[AgentEvent] = deque()
        self._late: list[str] = []
        """Text that arrived while the reader was far behind; it becomes one event."""
        self._event_added: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.stop: Callable[[], None] | None = None
        """Ends the turn properly; set once the turn has started."""
        self.tap: Callable[[AgentEvent], None] | None = None
        """Receives every event at once, in place of the iteration."""
        self.tap_children: Callable[[str, AgentEvent], None] | None = None
        """Receives every event of a sub-agent at once, with the id of its session."""
        self._started: asyncio.Future[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        task = self.begin()
        while not self._events:
            self._join_late()
            if self._events:
                break
            if self._closed:
                raise StopAsyncIteration
            if task.done():
                self._closed = True
                task.result()  # raises the error that kept the turn from starting
                continue
            self._event_added = asyncio.get_running_loop().create_future()
            try:
                await self._event_added
            except asyncio.CancelledError:
                self.cancel()
                await asyncio.wait({task})
                raise
        return self._events.popleft()

    def begin(self) -> asyncio.Task[None]:
        """Start the turn, if it has not started."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._start(self), name="toolgate-turn")
            self._task.add_done_callback(self._ended)
        return self._task

    async def started(self) -> None:
        """Start the turn, and wait until its first message is stored; raises the error that keeps it from starting."""
        task = self.begin()
        if self.stop is None:
            self._started = asyncio.get_running_loop().create_future()
            await asyncio.wait({task, self._started}, return_when=asyncio.FIRST_COMPLETED)
            if self.stop is None:
                task.result()

    def run(self, stop: Callable[[], None]) -> None:
        """Note that the turn has started, and how to stop it."""
        self.stop = stop
        if self._started is not None and not self._started.done():
            self._started.set_result(None)

    def cancel(self) -> None:
        """Ask the turn to stop. Its open calls are answered with `CANCELLED`, and the last event says so."""
        if self.stop is not None:
            self.stop()
        elif self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Wait until the turn has ended, with whatever result."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        """Stop receiving events; the turn continues."""
        self._closed = True
        self._events.clear()
        self._late.clear()

    def emit(self, event: AgentEvent) -> None:
        """Emit an event."""
        if self.tap is not None:
            self.tap(event)
        elif not self._closed:
            if isinstance(event, TextChunk) and (self._late or len(self._events) >= _BACKLOG):
                self._late.append(event.content)
            else:
                self._join_late()
                self._events.append(event)
            self._wake()

    def emit_of_child(self, session_id: str, event: AgentEvent) -> None:
        """Emit an event of a sub-agent. It is not part of the iteration: the sub-agent has a log of its own."""
        if self.tap_children is not None:
            self.tap_children(session_id, event)

    def _join_late(self) -> None:
        if self._late:
            self._events.append(TextChunk(content="".join(self._late)))
            self._late.clear()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # it is raised to the iterating task or was logged, so asyncio need not report it
        self._wake()

    def _wake(self) -> None:
        if self._event_added is not None and not self._event_added.done():
            self._event_added.set_result(None)
