"""`PendingResult`: a call whose result is not there yet."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, Task
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from time import perf_counter
from typing import Any, Protocol

from toolgate.log import logger
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.runtime.future_relay import GRACE as GRACE
from toolgate.runtime.future_relay import relayed


class Work(Protocol):
    """What a pending result drives."""

    def run(self, call: ToolCall, pending: PendingResult) -> ToolResult | Coroutine[Any, Any, ToolResult]:
        """Begin to handle the call. Return its result, or a coroutine for the rest. MUST NOT catch `CancelledError`."""
        ...

    def cancelled(self, pending: PendingResult) -> Coroutine[Any, Any, ToolResult]:
        """Record and build the result of a cancelled call; MUST NOT wait for anything but the recorder."""
        ...

    def broken(self, pending: PendingResult, error: BaseException) -> Coroutine[Any, Any, ToolResult]:
        """Record and build the result of a call on which the runtime itself failed."""
        ...


Opening = tuple[Coroutine[Any, Any, ToolResult], Any]
"""A coroutine that has begun, and what it waits for."""


class PendingResult:
    """Awaitable again and again to the same `ToolResult`; it never raises on behalf of the tool.

    The first task that awaits it runs the call itself, which costs no task of its own. One that nobody has awaited
    by the loop's next turn is run in the background.
    """

    _throw = False
    _hook: Callable[[], object] | None = None
    _driver: Task[Any] | None = None
    _background: Task[Any] | None = None
    _opening: Opening | None = None
    _waiters: list[asyncio.Future[None]] | None = None
    _owed = 0
    """How often this object has cancelled the driving task; each has to be undone (`Task.uncancel`)."""
    abandoned = False
    """The tool did not stop when it was cancelled, and still runs."""
    state: Any = None
    """State of the call, for the `Work`."""

    def __init__(
        self, work: Work, call: ToolCall, loop: asyncio.AbstractEventLoop, unstarted: list[PendingResult]
    ) -> None:
        self.call = call
        self._work = work
        self._loop = loop
        self._unstarted = unstarted
        self._context = copy_context()
        self._result: ToolResult | None = None
        self._started = False
        self._cancelled = False
        self.started_at = 0.0
        """When the call began, by the performance counter."""

    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
        return self.call.id

    def done(self) -> bool:
        """Whether the result is there."""
        return self._result is not None

    def result(self) -> ToolResult:
        """The result; `asyncio.InvalidStateError` if it is not there yet."""
        if self._result is None:
            raise asyncio.InvalidStateError("the result is not there yet: await it")
        return self._result

    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancel the call; the result becomes an error with code `CANCELLED` within five seconds."""
        if self._cancelled or self._result is not None:
            return
        self._cancelled = True
        if self._started:
            self._stop()

    def on_cancel(self, hook: Callable[[], object]) -> None:
        """Cancel the call with the tool's own `cancel`, instead of cancelling the task that runs it."""
        self._hook = hook
        if self._cancelled:
            self._stop()

    def __await__(self) -> Generator[Any, None, ToolResult]:
        """Wait for the result, running the call in the current task if nobody does yet."""
        if self._started:
            return (yield from self._wait())
        if self._unstarted and self._unstarted[-1] is self:
            self._unstarted.pop()
        opening = self._begin()
        if opening is not None:
            return (yield from self._drive_on(*opening))
        assert self._result is not None
        return self._result

    def start(self) -> None:
        """Run it in its own task, unless it runs already. The first step runs now, as part of that task."""
        if self._started:
            return
        task = self._background = self._loop.create_task(self._go_on(), context=self._context)
        asyncio.tasks._enter_task(self._loop, task)  # noqa: SLF001 - asyncio's documented way to extend it
        try:
            self._opening = self._context.run(self._begin)
        finally:
            asyncio.tasks._leave_task(self._loop, task)  # noqa: SLF001 - as above

    async def _go_on(self) -> None:
        if self._opening is not None:
            await _Driven(self, *self._opening)

    def _begin(self) -> Opening | None:
        """Run the first step. None: the call has ended; else the coroutine and what it waits for."""
        self._started = True
        self.started_at = perf_counter()
        if self._cancelled:
            return self._open(self._work.cancelled(self))
        final = None
        try:
            work = self._work.run(self.call, self)
            if not isinstance(work, ToolResult):
                return work, work.send(None)
            self._result = work
        except StopIteration as stop:
            self._result = stop.value
        except CancelledError:  # raised by the tool itself: the task was not cancelled
            final = self._work.cancelled(self)
        except BaseException as error:  # noqa: BLE001 - the runtime's own fault, and still the call is answered
            final = self._work.broken(self, error)
        if final is not None or self._cancelled:
            return self._open(final or self._work.cancelled(self))
        return None

    def _open(self, final: Coroutine[Any, Any, ToolResult]) -> Opening | None:
        """Run the first step of building the result of a call that has none of its own."""
        self._result = None
        try:
            return final, final.send(None)
        except StopIteration as stop:
            self._result = stop.value
            return None

    def _drive_on(self, work: Coroutine[Any, Any, ToolResult], waited: Any) -> Generator[Any, None, ToolResult]:
        """Continue a call that has to wait for something."""
        task = self._driver = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        result: ToolResult | None = None
        cancelled: CancelledError | None = None
        failure: BaseException | None = None
        try:
            result = yield from self._steps(work, waited, task, before)
        except CancelledError as error:
            cancelled = error
        except GeneratorExit:
            raise
        except _Broken as error:
            failure = error.__cause__
        for _ in range(self._owed):
            task.uncancel()
        if cancelled is not None:
            self._call_hook()
        if result is None or self._cancelled:
            result = yield from self._settle_without_result(None if self._cancelled else failure)
        self._settle(result)
        if cancelled is not None and task.cancelling() > before:
            raise cancelled
        return result

    def _settle_without_result(self, failure: BaseException | None = None) -> Generator[Any, None, ToolResult]:
        """Settle a call without a result: it was cancelled, or the runtime itself failed."""
        final = self._work.cancelled(self) if failure is None else self._work.broken(self, failure)
        result = yield from final.__await__()
        self._settle(result)
        return result

    def _steps(
        self, work: Coroutine[Any, Any, ToolResult], waited: Any, task: Task[Any], before: int
    ) -> Generator[Any, None, ToolResult | None]:
        """Drive `work` to its end; None if it had to be abandoned."""
        timer: asyncio.TimerHandle | None = None
        try:
            while True:
                error = yield from self._pause(work, waited)
                stopping = self._cancelled or task.cancelling() > before
                if isinstance(error, CancelledError) and stopping and _has_passed(timer, self._loop):
                    self._abandon(work)
                    return None
                try:
                    waited = work.send(None) if error is None else work.throw(error)
                except StopIteration as stop:
                    result: ToolResult = stop.value
                    return result
                except CancelledError:
                    raise
                except BaseException as failure:
                    raise _Broken from failure
                if self._cancelled or task.cancelling() > before:
                    self._call_hook()
                    timer = timer or self._loop.call_later(GRACE, self._interrupt)
                elif timer is not None:  # the tool cancelled something itself and handled it
                    timer.cancel()
                    timer = None
        finally:
            if timer is not None:
                timer.cancel()

    def _pause(self, work: Coroutine[Any, Any, ToolResult], waited: Any) -> Generator[Any, None, BaseException | None]:
        """Wait for what the coroutine waits for. Returns the exception to raise in it, if any."""
        if self._throw:
            self._throw = False
            return CancelledError()
        # a plain future without callbacks is set by asyncio or by the tool itself; all others may end with anything
        is_plain = type(waited) is asyncio.Future and not waited._callbacks  # noqa: SLF001 - asyncio shows it nowhere else
        try:
            if waited is not None and not is_plain:
                return (yield from relayed(waited, self._loop, self._interrupt))
            yield waited
        except GeneratorExit:
            work.close()
            raise
        except BaseException as thrown:  # noqa: BLE001 - what the call waits for has failed: its own to handle
            return thrown
        return None

    def _abandon(self, work: Coroutine[Any, Any, ToolResult]) -> None:
        """Give up on a tool that does not stop."""
        self.abandoned = True
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
        """Raise `CancelledError` where the call waits, without cancelling the driving task for good."""
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
        """Wait for a call that another task runs. If the last waiter is cancelled, so is the call."""
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


def _has_passed(timer: asyncio.TimerHandle | None, loop: asyncio.AbstractEventLoop) -> bool:
    return timer is not None and loop.time() >= timer.when()


class _Broken(Exception):
    """The pipeline itself raised something; its cause says what."""


class _Driven:
    """Awaiting it continues a call that has begun."""

    def __init__(self, pending: PendingResult, work: Coroutine[Any, Any, ToolResult], waited: Any) -> None:
        self._drive = pending._drive_on(work, waited)  # noqa: SLF001 - both classes are one implementation

    def __await__(self) -> Generator[Any, None, ToolResult]:
        return self._drive
