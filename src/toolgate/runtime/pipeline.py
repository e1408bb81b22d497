"""The one path of every call.

    resolve → mode gate → breaker → arguments → prepare → permission → gates again → lock → record started →
    execute → envelope → truncate → record finished
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

from pydantic import ValidationError

from toolgate.log import logger
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.plan import Plan
from toolgate.protocol.record import CallRecord, Decision, Gate
from toolgate.runtime import denials
from toolgate.runtime.arguments import ArgumentsError, parse_arguments
from toolgate.runtime.breaker import Breaker
from toolgate.runtime.execution import execute
from toolgate.runtime.failures import failure_of, internal
from toolgate.runtime.finish import rendered, result_of
from toolgate.runtime.limits import OutputLimits
from toolgate.runtime.locks import WriterLock
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.permission import authorise, weigh
from toolgate.runtime.policy_source import policy_of
from toolgate.runtime.redaction import stored
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.repair import problems_of, repair_message, unknown_keys
from toolgate.runtime.run import Entry, Run
from toolgate.tools.context import ToolContext


class Pipeline:
    """Handles the calls of one context against one registry."""

    def __init__(self, registry: ToolRegistry, context: ToolContext) -> None:
        self._registry = registry
        self._context = context
        self._entries: dict[str, Entry] = {}
        self.breaker: Breaker = context.shared.setdefault("breaker", Breaker(context.clock))
        self._writers: WriterLock = context.shared.setdefault("writers", WriterLock())
        self._policy = policy_of(context)
        self._limits = OutputLimits(context)

    async def run(self, call: ToolCall, pending: PendingResult) -> ToolResult:
        """Handle one call; raises nothing but cancellation."""
        run = Run(call, self._context, perf_counter())
        response = self._admit(run)
        if response is None:
            response = await self._perform(run, pending)
        return await self._finish(run, response)

    async def cancelled(self, call: ToolCall) -> ToolResult:
        """The result of a call that was taken back."""
        run = Run(call, self._context, perf_counter())
        response = ToolResponse.failure(ErrorCode.CANCELLED, "The call was cancelled.", next_step="It may be made again.")
        return await self._finish(run, response)

    async def explain(self, call: ToolCall) -> Decision:
        """What would be decided about a call, executing and asking nothing."""
        run = Run(call, self._context, perf_counter())
        refusal = self._admit(run) or await self._prepare(run)
        if refusal is None:
            return weigh(run, self._policy)
        return run.decision or _refusal("prepare", refusal)

    def available(self) -> list[str]:
        """The names that this caller may use now."""
        return [name for name in self._registry.names() if self._allowed(name) and not self.breaker.is_open(name)]

    def _resolve(self, name: str) -> Entry | None:
        tool = self._registry.get(name)
        if tool is None:
            return None
        entry = self._entries.get(name)
        if entry is None or entry.tool is not tool:
            entry = self._entries[name] = Entry(tool)
        return entry

    def _allowed(self, name: str) -> bool:
        """Both gates: what is shown and what may run."""
        tool = self._registry.get(name)
        if getattr(tool, "ungated", False):
            return True
        return self._registry.check_mode(name, self._context.mode)

    def _gates(self, run: Run) -> ToolResponse | None:
        """The mode gate and the breaker; asked when a call arrives and again before it runs."""
        name = run.tool.name
        if self._registry.get(name) is not run.tool:
            return self._refuse(run, "resolve", denials.unknown_tool(name, self.available()))
        if not self._allowed(name):
            modes = self._registry.get_effective_modes(name)
            enabled = self._context.settings.session.coding_enabled
            denial = denials.denied(name, run.call.id, self._context.mode, modes, coding_enabled=enabled)
            return self._refuse(run, "mode", denials.mode_denied(denial))
        if self.breaker.is_open(name):
            return self._refuse(run, "breaker", denials.circuit_open(name, self.breaker.remaining(name)))
        return None

    def _admit(self, run: Run) -> ToolResponse | None:
        entry = run.entry = self._resolve(run.call.name)
        if entry is None:
            return self._refuse(run, "resolve", denials.unknown_tool(run.call.name, self.available()))
        return self._gates(run) or self._read_arguments(run, entry)

    def _read_arguments(self, run: Run, entry: Entry) -> ToolResponse | None:
        name, text = run.call.name, run.call.arguments
        try:
            arguments = run.arguments = parse_arguments(text)
            problems = _validate(run, entry, text if arguments else "{}")
        except ArgumentsError as error:
            problems = {"arguments": str(error)}
            run.extras["parseError"] = str(error)
        if problems is None:
            return None
        run.extras["failureCategory"] = "invalid_usage"
        run.extras["toolName"] = name
        message = repair_message(name, problems, entry.tool.tool_definition.parameters)
        return self._refuse(run, "arguments", ToolResponse.failure(ErrorCode.INVALID_PARAM, message))

    async def _prepare(self, run: Run) -> ToolResponse | None:
        assert run.entry is not None
        if not run.entry.prepares:
            return None
        run.context = run.context.derive(call_id=run.call.id)
        try:
            plan = await run.tool.prepare(run.params, run.context)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # whatever a tool does, the runtime lives and the call is answered
            return self._refuse(run, "prepare", failure_of(error, run.tool.name, run.arguments.get("path")))
        if isinstance(plan, ToolResponse):
            return self._refuse(run, "prepare", plan)
        if plan is not None and not isinstance(plan, Plan):
            return internal(run.tool.name, f"planned {type(plan).__name__} instead of a Plan")
        run.plan = run.context.plan = plan
        return None

    async def _authorise(self, run: Run) -> ToolResponse | None:
        assert run.entry is not None
        if run.plan is None and not run.entry.asks and self._policy.is_empty:
            return None
        try:
            refusal = await authorise(run, self._policy)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # a gate that breaks is a closed gate
            return failure_of(error, run.tool.name)
        return refusal or self._gates(run)

    async def _perform(self, run: Run, pending: PendingResult) -> ToolResponse:
        entry = run.entry
        assert entry is not None
        refusal = (await self._prepare(run) if entry.prepares else None) or await self._authorise(run)
        if refusal is not None:
            return refusal
        held = entry.writes and await self._writers.acquire()
        broken: bool | None = None
        try:
            if not self.breaker.begin(entry.tool.name):
                return denials.circuit_open(entry.tool.name, self.breaker.remaining(entry.tool.name))
            response = self._changed_since(run) or await self._start(run)
            if response is None:
                response = await execute(run, pending)
                broken = response.error is not None and response.error.code is ErrorCode.INTERNAL_ERROR
            return response
        finally:
            if held:
                self._writers.release()
            self.breaker.end(entry.tool.name, broken=broken)

    def _changed_since(self, run: Run) -> ToolResponse | None:
        """The conflict, if what the plan was made for is no longer so."""
        if run.plan is None or not run.plan.preconditions:
            return None
        workspace = self._context.require_workspace()
        changed = [item.resource for item in run.plan.preconditions if workspace.state(item.resource) != item.state]
        if not changed:
            return None
        return ToolResponse.failure(
            ErrorCode.CONFLICT,
            f"{', '.join(map(repr, changed))} changed after this call was planned; nothing was done.",
            next_step="Read it again and repeat the call on what is there now.",
        )

    async def _start(self, run: Run) -> ToolResponse | None:
        """Record that the call runs; a call that cannot be recorded does not run."""
        if self._context.recorder is None:
            return None
        verdict = run.decision or Decision(decision="allow", gate="permission", reason="no permission needed")
        try:
            await self._record(run, "decision", verdict.model_dump())
            await self._record(run, "started", {"arguments": stored(run.arguments)})
        except Exception as error:
            logger("pipeline").error("record_failed", error=type(error).__name__)
            return ToolResponse.failure(
                ErrorCode.EXECUTION_ERROR,
                "The call was not run: it could not be recorded.",
                next_step="Tell the user that the record cannot be written.",
            )
        return None

    async def _finish(self, run: Run, response: ToolResponse) -> ToolResult:
        response, output = rendered(run, self._limits.masked(response))
        if self._limits.may_exceed(output):
            response, output = await self._limits.cut(run, response, output)
        if self._context.recorder is not None:
            await self._record_end(run, response)
        return result_of(run, response, output)

    async def _record_end(self, run: Run, response: ToolResponse) -> None:
        payload = {
            "status": response.status.value,
            "code": response.error.code.value if response.error else None,
            "arguments": stored(run.arguments),
        }
        try:
            if not run.executed and run.decision is not None:
                await self._record(run, "decision", run.decision.model_dump())
            await self._record(run, "finished", payload)
        except Exception as error:
            logger("pipeline").error("record_failed", error=type(error).__name__)

    async def _record(self, run: Run, kind: Any, payload: dict[str, Any]) -> None:
        recorder = self._context.recorder
        assert recorder is not None
        await recorder.record(
            CallRecord(
                kind=kind,
                session_id=self._context.session_id,
                call_id=run.call.id,
                tool_name=run.call.name,
                payload=payload,
            )
        )

    def _refuse(self, run: Run, gate: Gate, response: ToolResponse) -> ToolResponse:
        run.decision = _refusal(gate, response)
        return response


def _refusal(gate: Gate, response: ToolResponse) -> Decision:
    return Decision(decision="deny", gate=gate, reason=response.error.message if response.error else response.text)


def _validate(run: Run, entry: Entry, text: str) -> dict[str, str] | None:
    """Every offending key with what was expected, or None; the validated parameters are kept in the run."""
    schema = entry.tool.tool_definition.parameters
    arguments: dict[str, Any] = run.arguments
    if entry.foreign is not None:
        return _validate_foreign(entry.foreign.validator, arguments) or None
    problems: dict[str, str] = {}
    if entry.keys is not None and not arguments.keys() <= entry.keys:
        problems = unknown_keys(sorted(arguments.keys() - entry.keys), schema)
    try:
        run.params = entry.validate(text, strict=True)
    except ValidationError as error:
        problems |= problems_of(error, schema)
    return problems or None


def _validate_foreign(validator: Any, arguments: dict[str, Any]) -> dict[str, str]:
    problems: dict[str, str] = {}
    for error in validator.iter_errors(arguments):
        key = ".".join(str(part) for part in error.instance_path) or "arguments"
        problems.setdefault(key, str(error.message)[:200])
    return problems
