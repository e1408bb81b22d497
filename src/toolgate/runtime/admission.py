"""What can be said about a call before anything is looked up for it: does it exist, may it, can it be read."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime import denials
from toolgate.runtime.arguments import SURELY_SMALL, ArgumentsError, parse_arguments
from toolgate.runtime.breaker import Breaker
from toolgate.runtime.failures import failure_of
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.repair import example_of, problems_of, repair_message, unknown_keys
from toolgate.runtime.run import Entry, Run
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import declaration_of
from toolgate.tools.foreign import given as foreign_params


class Admission:
    """Resolve, mode gate, breaker and arguments, in this order."""

    def __init__(self, registry: ToolRegistry, context: ToolContext, breaker: Breaker) -> None:
        self._registry = registry
        self._context = context
        self._breaker = breaker
        self._entries: dict[str, Entry] = {}
        self._changes = registry.changes
        self._steady = registry.steady

    def admit(self, run: Run) -> ToolResponse | None:
        """The refusal, or None: then the run has its entry, its arguments and its parameters."""
        try:
            entry = run.entry = self._entries.get(run.name)
            if (
                entry is None
                or entry.passed_at != self._changes.count
                or entry.passed_in is not self._context.mode
                or not self._breaker.quiet
            ):
                refusal = self._look_up(run)
                if refusal is not None:
                    return refusal
                entry = run.found
            given: str | dict[str, Any] = run.arguments
            if isinstance(given, str):
                if entry.scalars is not None and len(given) <= SURELY_SMALL:
                    scalars = entry.scalars.read(given)
                    if scalars is not None:
                        run.arguments, run.values = scalars
                        return None
                run.arguments = parse_arguments(given)
            if entry.foreign is None and (entry.keys is None or run.arguments.keys() <= entry.keys):
                run.params = entry.read(given if run.arguments else "{}")
                return None
            return _doubtful(run, entry, given)
        except (ArgumentsError, ValidationError) as error:
            return _unreadable(run, run.found, error)
        except Exception as error:  # noqa: BLE001 - a parameter model may raise anything; it is a part of the tool
            return run.refuse("arguments", failure_of(error, run.name))

    def _look_up(self, run: Run) -> ToolResponse | None:
        """Resolve and the gates; that a tool passed is remembered until something moves that it depends on."""
        entry = run.entry = self.resolve(run.name)
        if entry is None:
            return run.refuse("resolve", denials.unknown_tool(run.name, self.available()))
        entry.passed_at = -1
        refusal = self.gates(run, entry)
        if refusal is None and self._steady and not entry.rests:
            entry.passed_at, entry.passed_in = self._changes.count, self._context.mode
        return refusal

    def gates(self, run: Run, entry: Entry) -> ToolResponse | None:
        """The mode gate and the breaker; asked when a call arrives and again before it runs."""
        name = entry.name
        if not self._allows(entry):
            denial = denials.denied(
                name,
                run.call_id,
                self._context.mode,
                self._registry.get_effective_modes(name),
                coding_enabled=self._context.settings.session.coding_enabled,
            )
            return run.refuse("mode", denials.mode_denied(denial))
        if not self._breaker.quiet and self._breaker.is_open(name):
            return run.refuse("breaker", denials.circuit_open(name, self._breaker.remaining(name)))
        if entry.rests:
            seconds, reason = entry.tool.resting()
            if seconds > 0:
                return run.refuse("breaker", denials.circuit_open(name, seconds, reason))
        return None

    def gates_again(self, run: Run, entry: Entry) -> ToolResponse | None:
        """The same after someone was asked: the registry may have changed meanwhile."""
        name = entry.name
        if self._registry.get(name) is not entry.tool:
            return run.refuse("resolve", denials.unknown_tool(name, self.available()))
        return self.gates(run, entry)

    def resolve(self, name: str) -> Entry | None:
        """The tool of that exact name."""
        tool = self._registry.get(name)
        if tool is None:
            return None
        entry, declaration = self._entries.get(name), self._registry.declaration(name)
        if entry is None or entry.tool is not tool or (declaration or entry.declaration) is not entry.declaration:
            entry = self._entries[name] = Entry(tool, declaration or declaration_of(tool))
        return entry

    def available(self) -> list[str]:
        """The names that this caller may use now."""
        names = self._registry.names()
        if not self._breaker.quiet:
            names = [name for name in names if not self._breaker.is_open(name)]
        return [name for name in names if (entry := self.resolve(name)) is not None and self._shows(entry)]

    def _shows(self, entry: Entry) -> bool:
        return self._allows(entry) and not (entry.rests and entry.tool.resting()[0] > 0)

    def _allows(self, entry: Entry) -> bool:
        """Both gates ask this: what is shown is what may run."""
        return entry.ungated or self._registry.check_mode(entry.name, self._context.mode)


def _doubtful(run: Run, entry: Entry, given: str | dict[str, Any]) -> ToolResponse | None:
    """What is wrong with the arguments of a foreign tool, or with keys that the parameter model itself would take."""
    problems = _problems(run, entry, given)
    if problems:
        return _invalid(run, entry, problems)
    if entry.prepares:
        run.params = foreign_params(run.arguments)
    return None


def _unreadable(run: Run, entry: Entry, error: ArgumentsError | ValidationError) -> ToolResponse:
    if isinstance(error, ValidationError):
        return _invalid(run, entry, problems_of(error, entry.parameters))
    response = _invalid(run, entry, {"arguments": str(error)})
    run.extras = {**(run.extras or {}), "parseError": str(error)}
    return response


def _invalid(run: Run, entry: Entry, problems: dict[str, str]) -> ToolResponse:
    name = run.name
    if entry.example is None:
        entry.example = example_of(entry.parameters)
    run.extras = {"failureCategory": "invalid_usage", "toolName": name}
    message = repair_message(name, problems, entry.example)
    return run.refuse("arguments", ToolResponse.failure(ErrorCode.INVALID_PARAM, message))


def _problems(run: Run, entry: Entry, given: str | dict[str, Any]) -> dict[str, str]:
    """Every offending key of a foreign tool's arguments, or of a native one that has unknown ones."""
    arguments: dict[str, Any] = run.arguments
    problems: dict[str, str] = {}
    if entry.foreign is not None:
        for where, what in entry.foreign.validator.errors(arguments):
            key, message = where or "arguments", what[:200]
            problems[key] = f"{problems[key]}; {message}" if key in problems else message
        return problems
    assert entry.keys is not None
    problems = unknown_keys(sorted(arguments.keys() - entry.keys), entry.parameters)
    try:
        entry.read(given)
    except ValidationError as error:
        problems |= problems_of(error, entry.parameters)
    return problems
