"""The first gates of a call: does the tool exist, is it allowed in this mode, are the arguments valid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.runtime import denials
from toolgate.runtime.arguments import SURELY_SMALL, ArgumentsError, parse_arguments
from toolgate.runtime.breaker import Breaker
from toolgate.runtime.failures import failure_of
from toolgate.runtime.invocation import Invocation
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.repair import example_of, likely_key, listed, problems_of, repair_message, unknown_keys
from toolgate.runtime.resolved_tool import ResolvedTool
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import declaration_of
from toolgate.tools.foreign import foreign_params

UNKNOWN_EXTRAS = {"failureCategory": "command_not_found"}
"""`extras` of the result for an unknown tool."""
UNKNOWN, _INVALID = ErrorCode.TOOL_NOT_FOUND, ErrorCode.INVALID_PARAM


class Available:
    """The names of the tools that a caller may use, and the state that they were looked up in."""

    def __init__(self, names: list[str], changes: int, mode: ToolMode, approval_mode: ApprovalMode) -> None:
        self.names = names
        self.unknown = denials.UnknownTool(names)
        self.changes = changes
        self.mode = mode
        self.approval_mode = approval_mode


class Admission:
    """Resolve, mode gate, breaker and arguments, in this order."""

    def __init__(self, registry: ToolRegistry, context: ToolContext, breaker: Breaker) -> None:
        self._registry = registry
        self._context = context
        self._breaker = breaker
        self.resolved: dict[str, ResolvedTool] = {}
        """The tools that were looked up. If the available ones are known (`current`), these are all that exist."""
        self._changes = registry.changes
        self._is_cacheable = registry.is_cacheable
        self._available: Available | None = None

    def admit(self, invocation: Invocation) -> ToolResponse | None:
        """The refusal, or None: then the invocation has its tool, its arguments and its parameters."""
        try:
            resolved = invocation.resolved = self.resolved.get(invocation.name)
            if resolved is None or not self._has_passed(resolved):
                refusal = self._look_up(invocation)
                if refusal is not None:
                    return refusal
                resolved = invocation.found
            given: str | dict[str, Any] = invocation.arguments
            if isinstance(given, str):
                if resolved.scalars is not None and len(given) <= SURELY_SMALL:
                    scalars = resolved.scalars.read(given)
                    if scalars is not None:
                        invocation.arguments, invocation.values = scalars
                        return None
                invocation.arguments = parse_arguments(given)
            if resolved.foreign is None and (resolved.keys is None or invocation.arguments.keys() <= resolved.keys):
                invocation.params = resolved.read(given if invocation.arguments else "{}")
                return None
            return _check_keys(invocation, resolved, given)
        except ArgumentsError as error:
            return _unreadable(invocation, invocation.found, str(error))
        except ValidationError as error:
            return _invalid(invocation, invocation.found, problems_of(error, invocation.found.parameters))
        except Exception as error:  # noqa: BLE001 - a parameter model may raise anything; it is a part of the tool
            return invocation.refuse("arguments", failure_of(error, invocation.name))

    def _has_passed(self, resolved: ResolvedTool) -> bool:
        """Whether the tool has passed its gates, and nothing that they depend on has changed since."""
        return (
            resolved.passed_at_change == self._changes.count
            and resolved.passed_in_mode is self._context.mode
            and resolved.passed_in_approval_mode is self._context.state.approval_mode
            and self._breaker.quiet
        )

    def _look_up(self, invocation: Invocation) -> ToolResponse | None:
        """Resolve the tool and check its gates. A pass is cached until the registry or a mode changes."""
        resolved = invocation.resolved = self.resolve(invocation.name)
        if resolved is None:
            return self._unknown(invocation)
        resolved.passed_at_change = -1
        refusal = self.gates(invocation, resolved)
        if refusal is None and self._is_cacheable and not resolved.rests:
            resolved.passed_at_change, resolved.passed_in_mode = self._changes.count, self._context.mode
            resolved.passed_in_approval_mode = self._context.state.approval_mode
        return refusal

    def gates(self, invocation: Invocation, resolved: ResolvedTool) -> ToolResponse | None:
        """The mode gate and the breaker. Checked when a call arrives and again before it runs."""
        name = resolved.name
        if not self._in_approval_mode(resolved) and self._in_tool_mode(resolved):
            denial = denials.not_in_approval_mode(
                name, invocation.call_id, self._context.mode, self._context.state.approval_mode
            )
            return invocation.refuse("mode", denials.mode_denied(denial))
        if not self._allows(resolved):
            denial = denials.denied(
                name,
                invocation.call_id,
                self._context.mode,
                self._registry.get_effective_modes(name),
                coding_enabled=self._context.settings.session.coding_enabled,
            )
            return invocation.refuse("mode", denials.mode_denied(denial))
        if not self._breaker.quiet and self._breaker.is_open(name):
            return invocation.refuse("breaker", denials.circuit_open(name, self._breaker.remaining(name)))
        if resolved.rests:
            seconds, reason = resolved.tool.resting()
            if seconds > 0:
                return invocation.refuse("breaker", denials.circuit_open(name, seconds, reason))
        return None

    def gates_again(self, invocation: Invocation, resolved: ResolvedTool) -> ToolResponse | None:
        """Check the gates again after an approval, because the registry may have changed meanwhile."""
        if self._has_passed(resolved):
            return None
        name = resolved.name
        if self._registry.get(name) is not resolved.tool:
            return self._unknown(invocation)
        return self.gates(invocation, resolved)

    def resolve(self, name: str) -> ResolvedTool | None:
        """The tool of that exact name."""
        tool = self._registry.get(name)
        if tool is None:
            return None
        resolved, declaration = self.resolved.get(name), self._registry.declaration(name)
        if (
            resolved is None
            or resolved.tool is not tool
            or (declaration or resolved.declaration) is not resolved.declaration
        ):
            resolved = self.resolved[name] = ResolvedTool(tool, declaration or declaration_of(tool))
        return resolved

    def _unknown(self, invocation: Invocation) -> ToolResponse:
        invocation.extras = UNKNOWN_EXTRAS.copy()
        unknown = self._find_available().unknown
        message = unknown.needed_message if invocation.for_command else unknown.message
        return invocation.refuse_in_words("resolve", UNKNOWN, message(invocation.name))

    def available(self) -> list[str]:
        """The names that this caller may use now."""
        return self._find_available().names

    def current(self) -> Available | None:
        """The available tools as they were looked up, if nothing that they depend on has changed since.

        Then a tool that is not in `resolved` does not exist. None: `admit` finds out.
        """
        known, context = self._available, self._context
        if (
            known is not None
            and known.changes == self._changes.count
            and known.mode is context.mode
            and known.approval_mode is context.state.approval_mode
            and self._breaker.quiet
        ):
            return known
        return None

    def _find_available(self) -> Available:
        if (known := self.current()) is not None:
            return known
        context = self._context
        found = [resolved for name in self._registry.names() if (resolved := self.resolve(name)) is not None]
        names = [resolved.name for resolved in found if self._shows(resolved)]
        lasts = self._is_cacheable and self._breaker.quiet and not any(resolved.rests for resolved in found)
        available = Available(names, self._changes.count, context.mode, context.state.approval_mode)
        self._available = available if lasts else None
        return available

    def _shows(self, resolved: ResolvedTool) -> bool:
        if not self._breaker.quiet and self._breaker.is_open(resolved.name):
            return False
        return self._allows(resolved) and not (resolved.rests and resolved.tool.resting()[0] > 0)

    def _allows(self, resolved: ResolvedTool) -> bool:
        """Used for the list of tools and for calls: only what is shown may run."""
        if resolved.ungated:
            return self._in_approval_mode(resolved)
        return self._checks(resolved.name, self._context.state.approval_mode)

    def _in_approval_mode(self, resolved: ResolvedTool) -> bool:
        return self._context.state.approval_mode in resolved.declaration.approval_modes

    def _in_tool_mode(self, resolved: ResolvedTool) -> bool:
        """Whether some approval mode allows the tool in this tool mode: then the approval mode is what denies it."""
        return resolved.ungated or any(
            self._checks(resolved.name, other) for other in resolved.declaration.approval_modes
        )

    def _checks(self, name: str, approval_mode: ApprovalMode) -> bool:
        if approval_mode is ApprovalMode.ask:  # a registry of another package may not know approval modes
            return self._registry.check_mode(name, self._context.mode)
        return self._registry.check_mode(name, self._context.mode, approval_mode)


def _check_keys(invocation: Invocation, resolved: ResolvedTool, given: str | dict[str, Any]) -> ToolResponse | None:
    """The refusal of arguments that a foreign tool's schema rejects, or of unknown keys that the model would ignore."""
    problems = _problems(invocation, resolved, given)
    if problems:
        return _invalid(invocation, resolved, problems)
    if resolved.prepares:
        invocation.params = foreign_params(invocation.arguments)
    return None


def _unreadable(invocation: Invocation, resolved: ResolvedTool, why: str) -> ToolResponse:
    name = invocation.name
    invocation.extras = {"failureCategory": "invalid_usage", "toolName": name, "parseError": why}
    message = repair_message(name, f"arguments: {why}", resolved.example)
    return invocation.refuse_in_words("arguments", _INVALID, message)


def _invalid(invocation: Invocation, resolved: ResolvedTool, problems: dict[str, str]) -> ToolResponse:
    name = invocation.name
    invocation.extras = {"failureCategory": "invalid_usage", "toolName": name}
    message = repair_message(name, listed(problems), _example(invocation, resolved, problems))
    return invocation.refuse_in_words("arguments", _INVALID, message)


def _example(invocation: Invocation, resolved: ResolvedTool, keys: Iterable[str]) -> str:
    """Example arguments for the repair message, with the known keys that unknown keys probably mean."""
    given = [key for key in keys if key in invocation.arguments]
    if not given:
        return resolved.example
    schema = resolved.parameters
    unknown = [key for key in given if key not in schema.get("properties", ())]
    meant = dict.fromkeys(found for key in unknown[:10] if (found := likely_key(key, schema)) is not None)
    return example_of(schema, list(meant)) if meant else resolved.example


def _problems(invocation: Invocation, resolved: ResolvedTool, given: str | dict[str, Any]) -> dict[str, str]:
    """Every offending key of a foreign tool's arguments, or of a native one that has unknown ones."""
    arguments: dict[str, Any] = invocation.arguments
    problems: dict[str, str] = {}
    if resolved.foreign is not None:
        for where, what in resolved.foreign.validator.errors(arguments):
            key, message = where or "arguments", what[:200]
            problems[key] = f"{problems[key]}; {message}" if key in problems else message
        return problems
    assert resolved.keys is not None
    problems = unknown_keys(sorted(arguments.keys() - resolved.keys), resolved.parameters)
    try:
        resolved.read(given)
    except ValidationError as error:
        problems |= problems_of(error, resolved.parameters)
    return problems
