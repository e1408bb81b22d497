"""`PendingResult`: a call that is on its way."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, Task
from collections.abc import Callable, Coroutine, Generator
from time import perf_counter
from typing import Any, Protocol

from toolgate.log import logger
from toolgate.protocol.calls import ToolCall, ToolResult

GRACE = 4.0
"""Seconds that a cancelled tool gets to stop before its call is settled without it."""


class Work(Protocol):
    """What a pending result drives."""

    def run(self, call: ToolCall, pending: PendingResult) -> Coroutine[Any, Any, ToolResult]:
        """Handle the call; MUST let `CancelledError` through."""
        ...

    def cancelled(self, pending: PendingResult) -> Coroutine[Any, Any, ToolResult]:
        """Record and build the result of a call that was taken back; MUST NOT wait for anything but the record."""
        ...


class PendingResult:
    """Awaitable again and again to the same `ToolResult`; it never raises on behalf of the tool.

    The first task that awaits it runs the call itself, which costs no task of its own. One that nobody has awaited
    by the loop's next turn is run in the background.
    """

    _result: ToolResult | None = None
    _started = False
    _cancelled = False
    _throw = False
    _hook: Callable[[], object] | None = None
    _driver: Task[Any] | None = None
    _background: Task[Any] | None = None
    _waiters: list[asyncio.Future[None]] | None = None
    _owed = 0
    """Cancellations of the driving task that were ours, to be taken back."""
    started_at = 0.0
    """When the call began, by the performance counter."""

    def __init__(
        self, work: Work, call: ToolCall, loop: asyncio.AbstractEventLoop, unstarted: list[PendingResult]
    ) -> None:
        self.call = call
        self._work = work
        self._loop = loop
        self._unstarted = unstarted

    @property
    def tool_call_id(self) -> str:
        """The id of the call, whatever becomes of it."""
        return self.call.id

    def done(self) -> bool:
        """Whether the result is there."""
        return self._result is not None

    def cancel(self) -> None:
        """Take the call back; the result becomes an error with code `CANCELLED` within five seconds."""
        if self._cancelled or self._result is not None:
            return
        self._cancelled = True
        if self._started:
            self._stop()

    def on_cancel(self, hook: Callable[[], object]) -> None:
        """Let the tool's own `cancel` end it, instead of cancelling the task that runs it."""
        self._hook = hook
        if self._cancelled:
            self._stop()

    def __await__(self) -> Generator[Any, None, ToolResult]:
        """Wait for the result, running the call if nobody does yet."""
        if self._started:
            return self._wait()
        if self._unstarted and self._unstarted[-1] is self:
            self._unstarted.pop()
        return self._drive()

    def start(self) -> None:
        """Run it in the background, if nobody runs it yet."""
        if not self._started:
            self._background = self._loop.create_task(self._run_in_background())

    async def _run_in_background(self) -> None:
        if not self._started:
            await _Driven(self)

    def _drive(self) -> Generator[Any, None, ToolResult]:
        """Run the call in the current task, step by step, so that it can be stopped without stopping the task."""
        self._started = True
        if self._cancelled:
            return (yield from self._take_back())
        self.started_at = perf_counter()
        work = self._work.run(self.call, self)
        try:
            waited = work.send(None)
        except StopIteration as stop:
            self._result = stop.value
            return self._result
        except CancelledError:  # raised by the tool: nobody was cancelled
            return (yield from self._take_back())
        return (yield from self._drive_on(work, waited))

    def _drive_on(self, work: Coroutine[Any, Any, ToolResult], waited: Any) -> Generator[Any, None, ToolResult]:
        """Go on with a call that has to wait for something."""
        task = self._driver = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        result: ToolResult | None = None
        cancelled: CancelledError | None = None
        try:
            result = yield from self._steps(work, waited)
        except CancelledError as error:
            cancelled = error
        genuine = False
        if task is not None:
            for _ in range(self._owed):
                task.uncancel()
            genuine = task.cancelling() > before
        if result is None or self._cancelled:
            result = yield from self._take_back()
        self._settle(result)
        if cancelled is not None and genuine:
            raise cancelled
        return result

    def _take_back(self) -> Generator[Any, None, ToolResult]:
        result = yield from self._work.cancelled(self).__await__()
        self._settle(result)
        return result

    def _steps(self, work: Coroutine[Any, Any, ToolResult], waited: Any) -> Generator[Any, None, ToolResult | None]:
        """Drive `work` to its end; None if it had to be left behind."""
        error: BaseException | None = None
        timer: asyncio.TimerHandle | None = None
        try:
            while True:
                if self._throw:
                    self._throw, error = False, CancelledError()
                else:
                    try:
                        yield waited
                        error = None
                    except CancelledError as cancelled:
                        if timer is not None and self._loop.time() >= timer.when():
                            self._abandon(work)
                            return None
                        if timer is None:
                            self._call_hook()
                            timer = self._loop.call_later(GRACE, self._interrupt)
                        error = cancelled
                    except GeneratorExit:
                        raise
                    except BaseException as failure:  # noqa: BLE001 - of what the call waits for: its own to handle
                        error = failure
                try:
                    waited = work.send(None) if error is None else work.throw(error)
                except StopIteration as stop:
                    value: ToolResult = stop.value
                    return value
        except GeneratorExit:
            work.close()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _abandon(self, work: Coroutine[Any, Any, ToolResult]) -> None:
        """Leave a tool behind that does not stop."""
        logger("pipeline").warning("tool_did_not_stop", tool_name=self.call.name)
        try:
            work.close()
        except RuntimeError:
            logger("pipeline").warning("tool_ignored_close", tool_name=self.call.name)

    def _stop(self) -> None:
        if self._hook is not None:
            self._call_hook()
            self._loop.call_later(GRACE / 2, self._interrupt)
        else:
            self._interrupt()

    def _call_hook(self) -> None:
        hook, self._hook = self._hook, None
        if hook is None:
            return
        try:
            hook()
        except Exception as error:  # noqa: BLE001 - the call is settled whatever the tool's own cancel does
            logger("pipeline").warning("tool_cancel_raised", tool_name=self.call.name, error=type(error).__name__)

    def _interrupt(self) -> None:
        """Raise `CancelledError` where the call waits; the driving task itself is not cancelled by it."""
        if self._result is not None:
            return
        if self._driver is None:
            self._throw = True
            return
        if self._driver.done():
            return
        if self._driver is asyncio.current_task():
            self._throw = True
        else:
            self._owed += 1
            self._driver.cancel()

    def _settle(self, result: ToolResult) -> None:
        self._result = result
        self._driver = self._hook = None
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_result(None)
        self._waiters = None

    def _wait(self) -> Generator[Any, None, ToolResult]:
        """Wait for a call that another task runs; the last waiter to be cancelled takes the call with it."""
        cancelled: CancelledError | None = None
        while self._result is None:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters = [*(self._waiters or ()), waiter]
            try:
                yield from waiter
            except CancelledError as error:
                others = [other for other in self._waiters or () if other is not waiter]
                self._waiters = others
                cancelled = error
                if self._background is None or others:
                    break
                self.cancel()
        if cancelled is not None:
            raise cancelled
        assert self._result is not None
        return self._result


class _Driven:
    """Awaiting it drives a pending result."""

    __slots__ = ("_pending",)

    def __init__(self, pending: PendingResult) -> None:
        self._pending = pending

    def __await__(self) -> Generator[Any, None, ToolResult]:
        return self._pending._drive()  # noqa: SLF001 - one object in two classes
