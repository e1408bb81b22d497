"""The path of every call.

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
from toolgate.protocol.completion import NEVER_VALIDATED, refused
from toolgate.protocol.envelope import ToolResponse, is_sound
from toolgate.protocol.plan import Plan
from toolgate.protocol.record import Decision
from toolgate.runtime import denials
from toolgate.runtime.admission import UNKNOWN, UNKNOWN_EXTRAS, Admission
from toolgate.runtime.breaker import Breaker
from toolgate.runtime.execution import Executor
from toolgate.runtime.failures import failure_of, internal
from toolgate.runtime.finish import OutputLimits, extras_of, plain_refusal, plain_result, rendered, result_of
from toolgate.runtime.hook_gate import after_call, before_call
from toolgate.runtime.hook_source import hooks_of
from toolgate.runtime.invocation import Invocation, milliseconds_since
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.permission import authorise, denied_path, judge
from toolgate.runtime.policy_source import policy_of
from toolgate.runtime.recording import Recording
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.resolved_tool import ResolvedTool
from toolgate.runtime.state import runtime_state
from toolgate.runtime.unfinished import cut_short
from toolgate.text.masking import OnOutput, masked_output
from toolgate.text.redaction import added_secrets
from toolgate.tools.base import Reroute
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.runtime.policy import Policy


class Pipeline:
    """Handles the calls of one context with the tools of one registry. `CallableToolset` has checked the policy."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self._context = context
        self._breaker: Breaker = runtime_state(context).breaker
        self._admission = Admission(registry, context, self._breaker)
        self._resolved = self._admission.resolved
        self._unfinished = runtime_state(context).unfinished
        self._workspace = context.workspace
        self._limits = OutputLimits(context)
        self._recording = None
        if context.recorder is not None:
            self._recording = Recording(context.recorder, context.session_id, self._limits.secrets)
        self._executor = Executor(context, self._breaker, self._recording)
        self._hooks = hooks_of(context)
        has_more_to_do = self._limits.secrets or self._recording is not None or self._hooks is not None
        self._plain = 0 if has_more_to_do else self._limits.surely_fits
        """Up to this many characters, the plain value of a function needs only its envelope; 0: never."""

    @functools.cached_property
    def _policy(self) -> Policy:
        policy = policy_of(self._context)
        self._context.state.path_rules = lambda: policy.path_rules
        return policy

    def run(self, call: ToolCall, pending: PendingResult) -> ToolResult | Coroutine[Any, Any, ToolResult]:
        """Pass the first gates, which never wait. Returns the result of a plain refusal, else a coroutine for the rest.

        Raises nothing but cancellation.
        """
        name, arguments, started = call.name, call.arguments, pending.started_at
        if name not in self._resolved and self._plain and not added_secrets:
            available = self._admission.current()
            if available is not None:
                response = refused(UNKNOWN, available.unknown.message(name), arguments, milliseconds_since(started))
                result = plain_refusal(call.id, response, arguments, UNKNOWN_EXTRAS.copy(), self._plain)
                if result is not None:
                    return result
        invocation = pending.state = Invocation(call.id, name, arguments, self._context, started)
        refusal = self._admission.admit(invocation)
        if refusal is None:
            return self._run(invocation, pending)
        if invocation.in_words and self._plain and not added_secrets:
            result = plain_refusal(call.id, refusal, invocation.arguments, invocation.extras or {}, self._plain)
            if result is not None:
                return result
        return self._end(invocation, refusal)

    async def _run(self, invocation: Invocation, pending: PendingResult) -> ToolResult:
        """Handle a call that was admitted."""
        response: ToolResponse | None = None
        if self._workspace is not None and self._workspace.closed:
            response = denials.closed()
        elif self._unfinished.running:
            response = self._unfinished.refusal(invocation)
        if response is None and self._hooks is not None:
            response = await before_call(self._hooks, invocation, self._admission)
        if response is None:
            resolved = invocation.resolved
            assert resolved is not None
            if resolved.reroutes:
                response = await self._route(invocation, resolved, pending)
            if response is None and (resolved.careful or invocation.hook_asks or self._policy.concerns(resolved.name)):
                response = await self._permit(invocation, resolved)
            if response is None:
                value = await self._executor.execute(invocation, resolved, pending)
                if (
                    resolved.success_text is not None
                    and self._plain
                    and not added_secrets
                    and type(value) is not ToolResponse
                    and not invocation.began
                ):
                    result = plain_result(invocation, resolved.success_text, value, self._plain)
                    if result is not None:
                        return result
                response = resolved.response_of(value)
        return await self._end(invocation, response)

    async def _end(self, invocation: Invocation, response: ToolResponse) -> ToolResult:
        """Complete, render, mask, truncate and record the response."""
        response, output = rendered(invocation, self._limits.owned(response))
        if self._hooks is not None:
            output = await after_call(self._hooks, invocation, response, output)
        if self._limits.secrets or added_secrets:
            response, output = self._limits.masked(response, output)
        ran = invocation.inner or invocation
        if response.error is not None or ran.began:
            self._tell_breaker(ran, response)
        if len(output) > self._limits.surely_fits:
            response, output = await self._limits.cut(invocation, response, output)
        if self._recording is not None:
            await self._recording.finish(ran, response)
        return result_of(invocation, response, output)

    async def cancelled(self, pending: PendingResult) -> ToolResult:
        """The result of a call that was cancelled."""
        invocation: Invocation | None = pending.state
        begun = invocation if invocation is None or invocation.inner is None else invocation.inner
        if begun is None or not begun.executed:
            response = ToolResponse.failure(
                ErrorCode.CANCELLED,
                "The call was cancelled before it ran.",
                data=begun.context.cancelled_data if begun is not None else {},
                next_step="It may be made again.",
            )
        else:
            what = "The call was cancelled while it ran"
            response = cut_short(begun, self._unfinished, ErrorCode.CANCELLED, what, stopped=not pending.abandoned)
        return await self._end_early(pending, response)

    async def broken(self, pending: PendingResult, error: BaseException) -> ToolResult:
        """The result of a call during which the runtime itself failed."""
        return await self._end_early(pending, failure_of(error, pending.call.name))

    async def _end_early(self, pending: PendingResult, response: ToolResponse) -> ToolResult:
        call, started = pending.call, pending.started_at or perf_counter()
        invocation = pending.state or Invocation(call.id, call.name, call.arguments, self._context, started)
        invocation.read_quietly()
        return await self._end(invocation, response)

    async def explain(self, call: ToolCall) -> Decision:
        """What would be decided about a call. Nothing is executed and nobody is asked."""
        invocation = Invocation(call.id, call.name, call.arguments, self._context, perf_counter())
        refusal = self._admission.admit(invocation)
        if refusal is None and invocation.found.reroutes:
            routed = self._rerouted(invocation)
            if isinstance(routed, ToolResponse):
                refusal = routed
            elif routed is not None:
                invocation = self._inner(invocation, routed)
                refusal = self._admission.admit(invocation)
        if refusal is None and denied_path(invocation, self._policy) is not None and invocation.decision is not None:
            return invocation.decision
        refusal = refusal or await self._prepare(invocation)
        if refusal is None:
            try:
                return judge(invocation, self._policy)
            except Exception as error:  # noqa: BLE001 - a gate that breaks is a closed gate
                refusal = invocation.refuse("permission", failure_of(error, call.name))
        invocation.refused = invocation.refused or ("prepare", refusal)
        verdict = invocation.verdict()
        assert verdict is not None
        return verdict

    def visible(self) -> list[ToolDefinition]:
        """The definitions of the tools that this caller may run; only these are shown."""
        entries = map(self._admission.resolve, self._admission.available())
        return [resolved.declaration.definition for resolved in entries if resolved is not None]

    async def _route(
        self, invocation: Invocation, resolved: ResolvedTool, pending: PendingResult
    ) -> ToolResponse | None:
        """Handle the call that replaces this one, if there is one: same id, every gate, one permission, one record."""
        routed = self._rerouted(invocation)
        if routed is None or isinstance(routed, ToolResponse):
            return routed
        inner = invocation.inner = self._inner(invocation, routed)
        invocation.answer = routed.answer
        response = self._admission.admit(inner)
        if response is None and self._hooks is not None:
            inner.hook_asks = invocation.hook_asks
            response = await before_call(self._hooks, inner, self._admission)
        if response is None:
            response = await self._permit(inner, inner.found)
        if response is None and (response := self._admission.gates_again(invocation, resolved)) is not None:
            inner.refused = invocation.refused
        if response is None:
            response = inner.found.response_of(await self._executor.execute(inner, inner.found, pending))
        if not is_sound(response):
            response = internal(inner.name, NEVER_VALIDATED)
        invocation.extras = extras_of(inner, response)
        try:
            return routed.answer(self._limits.owned(response), inner.tool.render if inner.resolved is not None else str)
        except Exception as error:  # noqa: BLE001 - the answer is made with the tool's own `render`
            return routed.answer(failure_of(error, inner.name), str)

    def _rerouted(self, invocation: Invocation) -> Reroute | ToolResponse | None:
        """The call that replaces this one, such as `edit_file` for `Bash("edit …")`; None if there is none."""
        try:
            return invocation.tool.reroute(invocation.params, invocation.context)
        except Exception as error:  # noqa: BLE001 - whatever a tool does, the runtime lives and the call is answered
            return invocation.refuse("prepare", failure_of(error, invocation.name))

    def _inner(self, invocation: Invocation, routed: Reroute) -> Invocation:
        inner = Invocation(invocation.call_id, routed.tool_name, routed.arguments, self._context, invocation.started)
        inner.for_command = True
        return inner

    def _tell_breaker(self, invocation: Invocation, response: ToolResponse) -> None:
        broken = invocation.is_broken(response)
        if invocation.began or invocation.executed or broken:
            self._breaker.end(invocation.name, broken=broken)

    async def _permit(self, invocation: Invocation, resolved: ResolvedTool) -> ToolResponse | None:
        """Plan, decide, ask, and check the gates again: an approval may take a long time."""
        refusal = denied_path(invocation, self._policy) or await self._prepare(invocation)
        if refusal is not None:
            return refusal
        try:
            refusal = await authorise(invocation, self._policy, self._limits.secrets, self._hooks)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a gate that breaks is a closed gate
            return failure_of(error, resolved.name)
        return refusal or self._admission.gates_again(invocation, resolved)

    async def _prepare(self, invocation: Invocation) -> ToolResponse | None:
        resolved = invocation.resolved
        if resolved is None or not resolved.prepares:
            return None
        invocation.context = invocation.context.derive(
            call_id=invocation.call_id, visible_tools=self.visible, on_output=self._on_output()
        )
        try:
            plan: object = await resolved.tool.prepare(invocation.params, invocation.context)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a tool does, the runtime lives and the call is answered
            return invocation.refuse("prepare", failure_of(error, invocation.name, invocation.arguments.get("path")))
        if isinstance(plan, ToolResponse):
            return invocation.refuse("prepare", plan)
        if plan is not None and not isinstance(plan, Plan):
            return internal(invocation.name, f"planned {type(plan).__name__} instead of a Plan")
        invocation.plan = invocation.context.plan = plan
        return None

    def _on_output(self) -> OnOutput | None:
        """Masks secrets in live output."""
        shows = self._context.on_output
        return None if shows is None else masked_output(shows, self._limits.secrets)
