"""Runs the tool of a call that has passed every gate."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime import denials
from toolgate.runtime.failures import failure_of
from toolgate.runtime.locks import WriterLock
from toolgate.runtime.state import runtime_state

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.runtime.breaker import Breaker
    from toolgate.runtime.invocation import Invocation
    from toolgate.runtime.pending import PendingResult
    from toolgate.runtime.recording import Recording
    from toolgate.runtime.resolved_tool import ResolvedTool
    from toolgate.tools.context import ToolContext


class Executor:
    """Runs the tools of one context, writers one after another."""

    def __init__(self, context: ToolContext, breaker: Breaker, recording: Recording | None) -> None:
        self._context = context
        self._breaker = breaker
        self._recording = recording
        self._writers: WriterLock = runtime_state(context).writers
        self._unfinished = runtime_state(context).unfinished

    async def execute(self, invocation: Invocation, resolved: ResolvedTool, pending: PendingResult) -> Any:
        """What the tool returns when it is its turn. Whatever the tool raises becomes a `ToolResponse`."""
        held = resolved.writes and (self._writers.enter() or await self._writers.wait())
        try:
            if self._unfinished and (running := self._unfinished.refusal(invocation)) is not None:
                return running
            if invocation.plan is not None or self._recording is not None or not self._breaker.quiet:
                obstacle = await self._obstacle(invocation, resolved.name)
                if obstacle is not None:
                    return obstacle
            invocation.executed = True
            return await resolved.invoke(invocation, pending)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever is raised becomes an answer
            return failure_of(error, resolved.name, invocation.arguments.get("path"))
        finally:
            if held:
                self._writers.leave()

    async def _obstacle(self, invocation: Invocation, name: str) -> ToolResponse | None:
        """Why the call cannot run now: the breaker is open, a planned file has changed, or it cannot be recorded."""
        invocation.began = self._breaker.begin(name)
        if not invocation.began:
            return denials.circuit_open(name, self._breaker.remaining(name))
        obstacle = self._changed_since(invocation.plan) if invocation.plan is not None else None
        if obstacle is None and self._recording is not None:
            obstacle = await self._recording.start(invocation)
        return obstacle

    def _state(self, resource: str) -> str:
        return self._context.at(resource).require_workspace().state(resource)

    def _changed_since(self, plan: Plan) -> ToolResponse | None:
        if not plan.preconditions:
            return None
        changed = [item.resource for item in plan.preconditions if self._state(item.resource) != item.state]
        if not changed:
            return None
        return ToolResponse.failure(
            ErrorCode.CONFLICT,
            f"{', '.join(map(repr, changed))} changed after this call was planned; nothing was done.",
            next_step="Read it again and repeat the call on what is there now.",
        )
