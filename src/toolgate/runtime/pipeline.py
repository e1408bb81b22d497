"""The one path of every call.

resolve → mode gate → breaker → arguments → prepare → permission → gates again → lock → record started → execute →
envelope → truncate → record finished
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine
from time import perf_counter
from typing import TYPE_CHECKING, Any

from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.completion import NEVER_VALIDATED
from toolgate.protocol.envelope import ToolResponse, is_sound
from toolgate.protocol.plan import Plan
from toolgate.protocol.record import Decision
from toolgate.runtime import denials
from toolgate.runtime.admission import Admission
from toolgate.runtime.breaker import Breaker
from toolgate.runtime.executor import Executor
from toolgate.runtime.failures import failure_of, internal
from toolgate.runtime.finish import extras_of, plain_result, rendered, result_of
from toolgate.runtime.limits import OutputLimits
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.permission import authorise, weigh
from toolgate.runtime.policy_source import check_policy, policy_of
from toolgate.runtime.recording import Recording
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.run import Entry, Run
from toolgate.runtime.tracing import tracing_of
from toolgate.runtime.unfinished import cut_short, unfinished_of
from toolgate.text.masking import OnOutput, masked_output
from toolgate.tools.base import Reroute
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.runtime.policy import Policy


class Pipeline:
    """Handles the calls of one context against one registry."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self._context = context
        self._breaker: Breaker = context.shared.setdefault("breaker", Breaker(context.clock))
        self._admission = Admission(registry, context, self._breaker)
        self._unfinished = unfinished_of(context)
        self._workspace = context.workspace
        check_policy(context)
        self._limits = OutputLimits(context)
        self._recording = None
        if context.recorder is not None:
            self._recording = Recording(context.recorder, context.session_id, self._limits.secrets)
        self._executor = Executor(context, self._breaker, self._recording)
        self._plain = 0 if self._limits.secrets or self._recording is not None else self._limits.surely_fits
        """The plain value of a function needs nothing but its envelope if it has at most so many characters."""
        self._tracing = tracing_of(context.session_id)

    @functools.cached_property
    def _policy(self) -> Policy:
        return policy_of(self._context)

    def run(self, call: ToolCall, pending: PendingResult) -> Coroutine[Any, Any, ToolResult]:
        """Handle one call. Raises nothing but cancellation."""
        work = self._run(call, pending)
        return work if self._tracing is None else self._tracing.traced(call, work)

    async def _run(self, call: ToolCall, pending: PendingResult) -> ToolResult:
        run = pending.state = Run(call.id, call.name, call.arguments, self._context, pending.started_at)
        response = self._admission.admit(run)
        if response is None and self._workspace is not None and self._workspace.closed:
            response = denials.closed()
        elif response is None and self._unfinished:
            response = self._unfinished.refusal(run)
        if response is None:
            entry = run.entry
            assert entry is not None
            if entry.reroutes:
                response = await self._route(run, entry, pending)
            if response is None and (entry.careful or self._policy.concerns(entry.name)):
                response = await self._permit(run, entry)
            if response is None:
                value = await self._executor.execute(run, entry, pending)
                if entry.said is not None and self._plain and not isinstance(value, ToolResponse) and not run.began:
                    result = plain_result(run, entry.said, value, self._plain)
                    if result is not None:
                        return result
                response = entry.response_of(value)
        return await self._end(run, response)

    async def _end(self, run: Run, response: ToolResponse) -> ToolResult:
        """Complete, render, mask, cut and record: the same for every call."""
        response, output = rendered(run, self._limits.owned(response))
        if self._limits.secrets:
            response, output = self._limits.masked(response, output)
        ran = run.inner or run
        if response.error is not None or ran.began:
            self._tell_breaker(ran, response)
        if len(output) > self._limits.surely_fits:
            response, output = await self._limits.cut(run, response, output)
        if self._recording is not None:
            await self._recording.finish(ran, response)
        return result_of(run, response, output)

    async def cancelled(self, pending: PendingResult) -> ToolResult:
        """The result of a call that was taken back."""
        run: Run | None = pending.state
        begun = run if run is None or run.inner is None else run.inner
        if begun is None or not begun.executed:
            response = ToolResponse.failure(
                ErrorCode.CANCELLED,
                "The call was cancelled before it ran.",
                data=begun.context.left if begun is not None else {},
                next_step="It may be made again.",
            )
        else:
            what = "The call was cancelled while it ran"
            response = cut_short(begun, self._unfinished, ErrorCode.CANCELLED, what, stopped=not pending.abandoned)
        return await self._given_up(pending, response)

    async def broken(self, pending: PendingResult, error: BaseException) -> ToolResult:
        """The result of a call that raised through everything."""
        return await self._given_up(pending, failure_of(error, pending.call.name))

    async def _given_up(self, pending: PendingResult, response: ToolResponse) -> ToolResult:
        call, started = pending.call, pending.started_at or perf_counter()
        run = pending.state or Run(call.id, call.name, call.arguments, self._context, started)
        run.read_quietly()
        return await self._end(run, response)

    async def explain(self, call: ToolCall) -> Decision:
        """What would be decided about a call, executing and asking nothing."""
        run = Run(call.id, call.name, call.arguments, self._context, perf_counter())
        refusal = self._admission.admit(run)
        if refusal is None and run.found.reroutes:
            routed = self._rerouted(run)
            if isinstance(routed, ToolResponse):
                refusal = routed
            elif routed is not None:
                run = self._inner(run, routed)
                refusal = self._admission.admit(run)
        refusal = refusal or await self._prepare(run)
        if refusal is None:
            try:
                return weigh(run, self._policy)
            except Exception as error:  # noqa: BLE001 - a gate that breaks is a closed gate
                refusal = run.refuse("permission", failure_of(error, call.name))
        run.refused = run.refused or ("prepare", refusal)
        verdict = run.verdict()
        assert verdict is not None
        return verdict

    def visible(self) -> list[ToolDefinition]:
        """What this caller is shown: nothing that it could not run."""
        entries = map(self._admission.resolve, self._admission.available())
        return [entry.declaration.definition for entry in entries if entry is not None]

    async def _route(self, run: Run, entry: Entry, pending: PendingResult) -> ToolResponse | None:
        """Handle the call that this one stands for, if it does: same id, every gate, one permission, one record."""
        routed = self._rerouted(run)
        if routed is None or isinstance(routed, ToolResponse):
            return routed
        inner = run.inner = self._inner(run, routed)
        run.answer = routed.answer
        response = self._admission.admit(inner)
        if response is None:
            response = await self._permit(inner, inner.found)
        if response is None and (response := self._admission.gates_again(run, entry)) is not None:
            inner.refused = run.refused
        if response is None:
            response = inner.found.response_of(await self._executor.execute(inner, inner.found, pending))
        if not is_sound(response):
            response = internal(inner.name, NEVER_VALIDATED)
        run.extras = extras_of(inner, response)
        try:
            return routed.answer(self._limits.owned(response), inner.tool.render if inner.entry is not None else str)
        except Exception as error:  # noqa: BLE001 - the answer is made with the tool's own `render`
            return routed.answer(failure_of(error, inner.name), str)

    def _rerouted(self, run: Run) -> Reroute | ToolResponse | None:
        """The call that this one stands for; None if it stands for itself."""
        try:
            return run.tool.reroute(run.params, run.context)
        except Exception as error:  # noqa: BLE001 - whatever a tool does, the runtime lives and the call is answered
            return run.refuse("prepare", failure_of(error, run.name))

    def _inner(self, run: Run, routed: Reroute) -> Run:
        return Run(run.call_id, routed.tool_name, routed.arguments, self._context, run.started)

    def _tell_breaker(self, run: Run, response: ToolResponse) -> None:
        broken = run.is_broken(response)
        if run.began or run.executed or broken:
            self._breaker.end(run.name, broken=broken)

    async def _permit(self, run: Run, entry: Entry) -> ToolResponse | None:
        """Plan, decide, ask, and look at the gates again: a person may have thought for a long time."""
        refusal = await self._prepare(run)
        if refusal is not None:
            return refusal
        try:
            refusal = await authorise(run, self._policy, self._limits.secrets)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a gate that breaks is a closed gate
            return failure_of(error, entry.name)
        return refusal or self._admission.gates_again(run, entry)

    async def _prepare(self, run: Run) -> ToolResponse | None:
        entry = run.entry
        if entry is None or not entry.prepares:
            return None
        run.context = run.context.derive(call_id=run.call_id, visible_tools=self.visible, on_output=self._on_output())
        try:
            plan: object = await entry.tool.prepare(run.params, run.context)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a tool does, the runtime lives and the call is answered
            return run.refuse("prepare", failure_of(error, run.name, run.arguments.get("path")))
        if isinstance(plan, ToolResponse):
            return run.refuse("prepare", plan)
        if plan is not None and not isinstance(plan, Plan):
            return internal(run.name, f"planned {type(plan).__name__} instead of a Plan")
        run.plan = run.context.plan = plan
        return None

    def _on_output(self) -> OnOutput | None:
        """Whoever is told what a command prints, told it without secrets."""
        shows, secrets = self._context.on_output, self._limits.secrets
        return masked_output(shows, secrets) if shows is not None and secrets else shows
