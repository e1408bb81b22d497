"""`TurnStream`: watching a turn. The turn is a task of its own; this only subscribes to it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Self

from toolgate.agent.events import AgentEvent, TextChunk

_BACKLOG = 1000
"""Events that wait for a slow reader before pieces of text are put together for it."""

Start = Callable[["TurnStream"], Coroutine[Any, Any, None]]


class TurnStream:
    """The events of one turn. The turn begins with the first `anext`.

    Leaving the iteration (`break`, `aclose`) leaves the turn alone: it goes on to its end, and what it does is in the
    store. Cancelling the task that iterates cancels the turn, and is passed on when the turn has ended in good order.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._events: deque[AgentEvent] = deque()
        self._late: list[str] = []
        """Text that came while the reader was far behind: it becomes one event."""
        self._news: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.stop: Callable[[], None] | None = None
        """Ends the turn in good order; set as soon as there is one."""
        self.tap: Callable[[AgentEvent], None] | None = None
        """Told every event at once, in place of the iteration."""
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
                task.result()  # raises what kept the turn from beginning
                continue
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            except asyncio.CancelledError:
                self.cancel()
                await asyncio.wait({task})
                raise
        return self._events.popleft()

    def begin(self) -> asyncio.Task[None]:
        """Let the turn begin, if it has not."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._start(self), name="toolgate-turn")
            self._task.add_done_callback(self._ended)
        return self._task

    async def started(self) -> None:
        """Let the turn begin, and wait until its first message is stored; raises what keeps it from beginning."""
        task = self.begin()
        if self.stop is None:
            self._started = asyncio.get_running_loop().create_future()
            await asyncio.wait({task, self._started}, return_when=asyncio.FIRST_COMPLETED)
            if self.stop is None:
                task.result()

    def run(self, stop: Callable[[], None]) -> None:
        """Note that the turn has begun, and how to end it."""
        self.stop = stop
        if self._started is not None and not self._started.done():
            self._started.set_result(None)

    def cancel(self) -> None:
        """Ask the turn to end; its open calls are answered with `CANCELLED`, and the last event says so."""
        if self.stop is not None:
            self.stop()
        elif self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Wait until the turn has ended, however it did."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        """Stop watching; the turn goes on."""
        self._closed = True
        self._events.clear()
        self._late.clear()

    def emit(self, event: AgentEvent) -> None:
        """Tell whoever watches."""
        if self.tap is not None:
            self.tap(event)
        elif not self._closed:
            if isinstance(event, TextChunk) and (self._late or len(self._events) >= _BACKLOG):
                self._late.append(event.content)
            else:
                self._join_late()
                self._events.append(event)
            self._wake()

    def _join_late(self) -> None:
        if self._late:
            self._events.append(TextChunk(content="".join(self._late)))
            self._late.clear()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # it is raised to whoever iterates, or was logged; it need not be reported again
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
