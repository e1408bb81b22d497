"""Blocking work in threads that a cancelled call can stop."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 32
"""Most threads that one event loop runs at the same time. Further work waits."""


MIN_MEMORY = 2 << 20
"""Bytes that must be free before a thread is started.

A thread that gets no memory for its first steps never says that it runs, and `Thread.start` waits for that for ever.
"""
_RESERVE = 1 << 18
"""Bytes that a thread keeps until its work is done, so that it can hand over the outcome."""


class Stopped(BaseException):
    """The call was cancelled. It is not an `Exception`, so that no handler of ordinary failures catches it."""


class Stop:
    """Tells a working thread that its call was cancelled."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False
        """Whether the thread should end."""

    def set(self) -> None:
        """Ask the thread to end."""
        self.is_set = True

    def check(self) -> None:
        """Raise `Stopped` if the thread should end. Writers call it before their commit point, never after."""
        if self.is_set:
            raise Stopped


_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def in_thread(fn: Callable[Concatenate[Stop, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `fn(stop, *args)` in a thread and wait for it.

    When the waiting task is cancelled, the token is set, and the thread ends before `CancelledError` is raised. So no
    work continues after the call is over.
    """
    loop = asyncio.get_running_loop()
    slots = _slots.get(loop)
    if slots is None:
        slots = _slots[loop] = asyncio.Semaphore(MAX_THREADS)
    async with slots:
        stop, handover = Stop(), _Handover(loop)
        context = contextvars.copy_context()
        reserve = [bytes(_RESERVE)]
        thread = threading.Thread(
            target=context.run,
            args=(_work, handover, lambda: fn(stop, *args, **kwargs), reserve),
            name="toolgate-worker",
            daemon=True,
        )
        start_thread(thread)
        try:
            outcome: T = await handover.future
        except asyncio.CancelledError:
            stop.set()
            await handover.over()
            raise
        finally:
            thread.join()
        return outcome


def start_thread(thread: threading.Thread) -> None:
    """Start a thread, or raise `MemoryError` if there is too little memory for it to begin."""
    import mmap

    try:
        mmap.mmap(-1, MIN_MEMORY).close()  # `bytes` of that size would be filled with zeros every time
    except OSError as error:
        raise MemoryError("too little memory for a thread") from error
    thread.start()


class _Handover:
    """Brings the outcome of a thread to the task that waits for it. Cancelling the task cancels only its future."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_over = False
        self._end: asyncio.Future[None] | None = None
        self.future: asyncio.Future[Any] = loop.create_future()
        """The outcome."""

    def give(self, outcome: Any, failure: BaseException | None) -> None:
        """Called in the thread, as its last step."""
        try:
            self._loop.call_soon_threadsafe(self._settle, outcome, failure)
        except RuntimeError:  # the loop was closed while the thread worked: nobody is waiting
            return

    def _settle(self, outcome: Any, failure: BaseException | None) -> None:
        self._is_over = True
        if self._end is not None and not self._end.done():
            self._end.set_result(None)
        if self.future.done():
            return
        if failure is None:
            self.future.set_result(outcome)
        elif isinstance(failure, StopIteration | GeneratorExit):  # these would not reach the waiting task unchanged
            self.future.set_exception(RuntimeError(f"a worker raised {type(failure).__name__}"))
        else:
            self.future.set_exception(failure)

    async def over(self) -> None:
        """Wait until the thread has ended, however often the waiting task is cancelled meanwhile."""
        while not self._is_over:
            self._end = self._loop.create_future()
            with contextlib.suppress(asyncio.CancelledError):
                await self._end
        if not self.future.cancelled():
            self.future.exception()


def _work(handover: _Handover, job: Callable[[], Any], reserve: list[bytes]) -> None:
    outcome: Any = None
    failure: BaseException | None = None
    try:
        outcome = job()
    except BaseException as error:  # noqa: BLE001 - handed over to the task that waits, whatever it is
        failure = error
    reserve.clear()
    try:
        handover.give(outcome, failure)
    except MemoryError as error:  # what the work holds on to is all that there is
        del outcome, failure
        handover.give(None, error)
