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
from toolgate.runtime.repair import example_of, problems_of, repair_message, unknown_keys
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
        run = Run(call, self._context, pending.started_at)
        response = self._admit(run)
        if response is None:
            response = await self._perform(run, pending)
        response, output = self._rendered(run, response)
        if len(output) > self._limits.surely_fits or self._context.recorder is not None:
            response, output = await self._cut_and_record(run, response, output)
        return result_of(run, response, output)

    async def cancelled(self, pending: PendingResult) -> ToolResult:
        """The result of a call that was taken back."""
        run = Run(pending.call, self._context, pending.started_at or perf_counter())
        response = ToolResponse.failure(
            ErrorCode.CANCELLED, "The call was cancelled.", next_step="It may be made again."
        )
        response, output = await self._cut_and_record(run, *self._rendered(run, response))
        return result_of(run, response, output)

    async def explain(self, call: ToolCall) -> Decision:
        """What would be decided about a call, executing and asking nothing."""
        run = Run(call, self._context, perf_counter())
        refusal = self._admit(run) or await self._prepare(run)
        if refusal is None:
            return weigh(run, self._policy)
        return _refusal(*(run.refused or ("prepare", refusal)))

    def available(self) -> list[str]:
        """The names that this caller may use now."""
        names = self._registry.names()
        return [name for name in names if self._allowed(self._resolve(name)) and not self.breaker.is_open(name)]

    def _resolve(self, name: str) -> Entry | None:
        tool = self._registry.get(name)
        if tool is None:
            return None
        entry = self._entries.get(name)
        if entry is None or entry.tool is not tool:
            entry = self._entries[name] = Entry(tool)
        return entry

    def _allowed(self, entry: Entry | None) -> bool:
        """Both gates: what is shown and what may run."""
        if entry is None:
            return False
        return entry.ungated or self._registry.check_mode(entry.tool.name, self._context.mode)

    def _gates(self, run: Run, entry: Entry) -> ToolResponse | None:
        """The mode gate and the breaker; asked when a call arrives and again before it runs."""
        name = entry.tool.name
        if not self._allowed(entry):
            modes = self._registry.get_effective_modes(name)
            enabled = self._context.settings.session.coding_enabled
            denial = denials.denied(name, run.call.id, self._context.mode, modes, coding_enabled=enabled)
            return self._refuse(run, "mode", denials.mode_denied(denial))
        if not self.breaker.is_quiet and self.breaker.is_open(name):
            return self._refuse(run, "breaker", denials.circuit_open(name, self.breaker.remaining(name)))
        return None

    def _admit(self, run: Run) -> ToolResponse | None:
        entry = run.entry = self._resolve(run.call.name)
        if entry is None:
            return self._refuse(run, "resolve", denials.unknown_tool(run.call.name, self.available()))
        return self._gates(run, entry) or self._read_arguments(run, entry)

    def _read_arguments(self, run: Run, entry: Entry) -> ToolResponse | None:
        name, text = run.call.name, run.call.arguments
        try:
            run.arguments = parse_arguments(text)
        except ArgumentsError as error:
            problems = {"arguments": str(error)}
            run.extras = {"failureCategory": "invalid_usage", "toolName": name, "parseError": str(error)}
        else:
            problems = _validate(run, entry, text if run.arguments else "{}")
            if not problems:
                return None
            run.extras = {"failureCategory": "invalid_usage", "toolName": name}
        if entry.example is None:
            entry.example = example_of(entry.tool.parameters)
        message = repair_message(name, problems, entry.example)
        return self._refuse(run, "arguments", ToolResponse.failure(ErrorCode.INVALID_PARAM, message))

    async def _prepare(self, run: Run) -> ToolResponse | None:
        assert run.entry is not None
        if not run.entry.prepares:
            return None
        run.context = run.context.derive(call_id=run.call.id)
        try:
            plan: object = await run.tool.prepare(run.params, run.context)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a tool does, the runtime lives and the call is answered
            return self._refuse(run, "prepare", failure_of(error, run.tool.name, run.arguments.get("path")))
        if isinstance(plan, ToolResponse):
            return self._refuse(run, "prepare", plan)
        if plan is not None and not isinstance(plan, Plan):
            return internal(run.tool.name, f"planned {type(plan).__name__} instead of a Plan")
        run.plan = run.context.plan = plan
        return None

    async def _permit(self, run: Run, entry: Entry) -> ToolResponse | None:
        """Plan, decide, ask, and look at the gates again: a person may have thought for a long time."""
        refusal = await self._prepare(run)
        if refusal is not None:
            return refusal
        try:
            refusal = await authorise(run, self._policy)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a gate that breaks is a closed gate
            return failure_of(error, run.tool.name)
        if refusal is not None:
            return refusal
        if self._registry.get(run.tool.name) is not run.tool:
            return self._refuse(run, "resolve", denials.unknown_tool(run.tool.name, self.available()))
        return self._gates(run, entry)

    async def _perform(self, run: Run, pending: PendingResult) -> ToolResponse:
        entry = run.entry
        assert entry is not None
        name = entry.tool.name
        if entry.prepares or entry.asks or self._policy.concerns(name):
            refusal = await self._permit(run, entry)
            if refusal is not None:
                return refusal
        held = entry.writes and not self._writers.holds()
        if held and not self._writers.try_acquire():
            await self._writers.acquire()
        broken: bool | None = None
        try:
            if not self.breaker.is_quiet and not self.breaker.begin(name):
                return denials.circuit_open(name, self.breaker.remaining(name))
            obstacle = self._changed_since(run.plan) if run.plan is not None else None
            if obstacle is None and self._context.recorder is not None:
                obstacle = await self._start(run)
            if obstacle is not None:
                return obstacle
            response = await execute(run, entry, pending)
            broken = response.error is not None and response.error.code is ErrorCode.INTERNAL_ERROR
            return response
        finally:
            if held:
                self._writers.release()
            if broken or not self.breaker.is_quiet:
                self.breaker.end(name, broken=broken)

    def _changed_since(self, plan: Plan) -> ToolResponse | None:
        """The conflict, if what the plan was made for is no longer so."""
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

    async def _start(self, run: Run) -> ToolResponse | None:
        """Record that the call runs; a call that cannot be recorded does not run."""
        verdict = run.decision or Decision(decision="allow", gate="permission", reason="no permission needed")
        try:
            await self._record(run, "decision", verdict.model_dump())
            await self._record(run, "started", {"arguments": stored(run.arguments)})
        except Exception as error:  # noqa: BLE001 - a recorder may fail in any way; the call then does not run
            logger("pipeline").error("record_failed", error=type(error).__name__)
            return ToolResponse.failure(
                ErrorCode.EXECUTION_ERROR,
                "The call was not run: it could not be recorded.",
                next_step="Tell the user that the record cannot be written.",
            )
        return None

    def _rendered(self, run: Run, response: ToolResponse) -> tuple[ToolResponse, str]:
        return rendered(run, self._limits.masked(response) if self._limits.secrets else response)

    async def _cut_and_record(self, run: Run, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
        if len(output) > self._limits.surely_fits:
            response, output = await self._limits.cut(run, response, output)
        if self._context.recorder is not None:
            await self._record_end(run, response)
        return response, output

    async def _record_end(self, run: Run, response: ToolResponse) -> None:
        payload = {
            "status": response.status.value,
            "code": response.error.code.value if response.error else None,
            "arguments": stored(run.arguments),
        }
        try:
            if not run.executed:
                verdict = run.decision if run.refused is None else _refusal(*run.refused)
                if verdict is not None:
                    await self._record(run, "decision", verdict.model_dump())
            await self._record(run, "finished", payload)
        except Exception as error:  # noqa: BLE001 - the call has run: its result is not lost with the record
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
        run.refused = gate, response
        return response


def _refusal(gate: Gate, response: ToolResponse) -> Decision:
    return Decision(decision="deny", gate=gate, reason=response.error.message if response.error else response.text)


def _validate(run: Run, entry: Entry, text: str) -> dict[str, str]:
    """Every offending key with what was expected; the validated parameters are kept in the run."""
    arguments: dict[str, Any] = run.arguments
    if entry.foreign is not None:
        return _validate_foreign(entry.foreign.validator, arguments)
    problems: dict[str, str] = {}
    if entry.keys is not None and not arguments.keys() <= entry.keys:
        problems = unknown_keys(sorted(arguments.keys() - entry.keys), entry.tool.parameters)
    try:
        run.params = entry.validate(text, strict=True)
    except ValidationError as error:
        problems |= problems_of(error, entry.tool.parameters)
    return problems


def _validate_foreign(validator: Any, arguments: dict[str, Any]) -> dict[str, str]:
    problems: dict[str, str] = {}
    for error in validator.iter_errors(arguments):
        key = ".".join(str(part) for part in error.instance_path) or "arguments"
        problems.setdefault(key, str(error.message)[:200])
    return problems
