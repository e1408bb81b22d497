"""An admitted call is run in its turn: as far as it goes without waiting, and then on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime import denials
from toolgate.runtime.execution import awaited, begun
from toolgate.runtime.failures import failure_of
from toolgate.runtime.finish import plain_result
from toolgate.runtime.locks import WriterLock
from toolgate.runtime.unfinished import unfinished_of

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolResult
    from toolgate.protocol.plan import Plan
    from toolgate.runtime.breaker import Breaker
    from toolgate.runtime.pending import PendingResult
    from toolgate.runtime.recording import Recording
    from toolgate.runtime.run import Entry, Run
    from toolgate.tools.context import ToolContext


class Executor:
    """Runs the tools of one context. Writers wait for their turn; whatever a tool does, the call is answered."""

    def __init__(self, context: ToolContext, breaker: Breaker, recording: Recording | None, plain: int) -> None:
        self._context = context
        self._breaker = breaker
        self._recording = recording
        self._writers: WriterLock = context.shared.setdefault("writers", WriterLock())
        self._unfinished = unfinished_of(context)
        self._plain = plain
        """A plain value of at most so many characters can leave as it is."""

    def attempt(
        self, run: Run, entry: Entry, pending: PendingResult
    ) -> ToolResult | ToolResponse | Coroutine[Any, Any, ToolResponse]:
        """Run a tool that needs no more than its turn: its response, or what is left to do if it waits.

        Where the response of a plain value would only be rendered, the result.
        """
        held = entry.writes and self._writers.enter()
        if held is None:
            return self.execute(run, entry, pending)
        run.executed = True
        response = None
        try:
            values = run.values
            work = entry.invoke(run, pending) if values is None else entry.function(**values)
            if type(work) is not CoroutineType:
                work = awaited(work)
            try:
                waited = work.send(None)
            except StopIteration as stop:
                value = stop.value
                if entry.said is None or (type(value) is not dict and isinstance(value, ToolResponse)):
                    response = _response(entry, value)
            else:
                rest = self._answered(run, entry, begun(work, waited), held)
                held = False
                return rest
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever is raised becomes an answer
            response = failure_of(error, entry.name, run.arguments.get("path"))
        finally:
            if held:
                self._writers.leave()
        if response is None:
            assert entry.said is not None
            result = plain_result(run, entry.said, value, self._plain)
            if result is not None:
                return result
            response = entry.respond(value)
        return response

    async def execute(self, run: Run, entry: Entry, pending: PendingResult) -> ToolResponse:
        """Run it in its turn."""
        held = entry.writes and (self._writers.enter() or await self._writers.wait())
        return await self._answered(run, entry, self._unhindered(run, entry, pending), held)

    async def _unhindered(self, run: Run, entry: Entry, pending: PendingResult) -> Any:
        """What the tool returns, or what keeps it from running."""
        if self._unfinished and (running := self._unfinished.refusal(run)) is not None:
            return running
        if run.plan is not None or self._recording is not None or not self._breaker.quiet:
            obstacle = await self._obstacle(run, entry.name)
            if obstacle is not None:
                return obstacle
        run.executed = True
        return await entry.invoke(run, pending)

    async def _answered(self, run: Run, entry: Entry, work: Awaitable[Any], held: bool) -> ToolResponse:
        """What the tool answers; whatever it does, the runtime lives and the call is answered."""
        try:
            return _response(entry, await work)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever is raised becomes an answer
            return failure_of(error, entry.name, run.arguments.get("path"))
        finally:
            if held:
                self._writers.leave()

    async def _obstacle(self, run: Run, name: str) -> ToolResponse | None:
        """What keeps the call from running now: it rests, the world is not as planned, or it cannot be recorded."""
        run.began = self._breaker.begin(name)
        if not run.began:
            return denials.circuit_open(name, self._breaker.remaining(name))
        obstacle = self._changed_since(run.plan) if run.plan is not None else None
        if obstacle is None and self._recording is not None:
            obstacle = await self._recording.start(run)
        return obstacle

    def _changed_since(self, plan: Plan) -> ToolResponse | None:
        if not plan.preconditions:
            return None
        workspace = self._context.require_workspace()
        changed = [item.resource for item in plan.preconditions if workspace.state(item.resource) != item.state]
        if not changed:
            return None
        return ToolResponse.failure(
            ErrorCode.CONFLICT,
            f"{', '.join(map(repr, changed))} changed after this call was planned; nothing was done.",
            next_step="Read it again and repeat the call on what is there now.",
        )


def _response(entry: Entry, value: Any) -> ToolResponse:
    """The envelope of what a tool returned."""
    return value if isinstance(value, ToolResponse) else entry.respond(value)
