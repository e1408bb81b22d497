"""`Invocation`: the state of one call on its way through the pipeline."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from typing import Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.completion import refused
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.plan import Plan
from toolgate.protocol.record import Decision, Gate
from toolgate.runtime.arguments import ArgumentsError, parse_arguments
from toolgate.runtime.resolved_tool import ResolvedTool
from toolgate.tools.base import Answer, Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import Declaration


def milliseconds_since(started: float) -> float:
    """How long ago that was, by the performance counter."""
    return int((perf_counter() - started) * 1_000_000) / 1000


class Invocation:
    """The state of one call on its way through the pipeline."""

    resolved: ResolvedTool | None = None
    values: dict[str, Any] | None = None
    """The parameters by name, if they were read without their model (`scalar_arguments`)."""
    plan: Plan | None = None
    resolved_paths: dict[str, tuple[str, ...]] | None = None
    """Path as typed → every path that rules compare with. Filled by the policy."""
    decision: Decision | None = None
    """What the policy or a person decided."""
    refused: tuple[Gate, ToolResponse] | None = None
    """The gate that refused the call, and its response."""
    in_words = False
    """The refusal is complete, and its text is what the model reads."""
    began = False
    """The breaker admitted the call and has to be told how it ended."""
    inner: Invocation | None = None
    """The call that is made instead, such as `edit_file` for `Bash("edit …")`."""
    for_command = False
    """Whether this is such an `inner`: a model typed a command, not the tool's name."""
    answer: Answer | None = None
    """Turns the response of `inner` into the response of this call."""
    executed = False
    still_running: Callable[[], bool] | None = None
    """Whether the tool's thread or task still runs; None if the tool has neither."""
    uncertain = False
    """The call was answered, but its tool could not be stopped, so its outcome is unknown."""
    extras: dict[str, Any] | None = None
    hook_asks = ""
    """Why a hook of the user wants a person to be asked."""
    notes: tuple[str, ...] = ()
    """What hooks of the user add to the result."""

    def __init__(
        self, call_id: str, name: str, arguments: str | dict[str, Any], context: ToolContext, started: float
    ) -> None:
        self.call_id = call_id
        self.name = name
        self.context = context
        self.started = started
        self.arguments: Any = arguments
        """The parsed object, or the string if it cannot be parsed."""

    @cached_property
    def params(self) -> Any:
        """The parameters as their model; None if they were not read."""
        return None if self.values is None else self.found.read(self.arguments)

    @property
    def found(self) -> ResolvedTool:
        """The tool with its declaration, once it is resolved."""
        assert self.resolved is not None
        return self.resolved

    @property
    def tool(self) -> Tool[Any]:
        """The tool, once it is resolved."""
        return self.found.tool

    @property
    def declaration(self) -> Declaration:
        """What the tool declared, once it is resolved."""
        return self.found.declaration

    @property
    def prepares(self) -> bool:
        """Whether the tool has a `prepare` of its own."""
        return self.resolved is not None and self.resolved.prepares

    def is_broken(self, response: ToolResponse) -> bool | None:
        """Whether the tool broke; None if it did not get as far as to show it."""
        code = response.error.code if response.error is not None else None
        if code is ErrorCode.INTERNAL_ERROR:
            return True
        return False if self.executed and code is not ErrorCode.CANCELLED else None

    def read_quietly(self) -> None:
        """Parse the arguments, if they can be parsed, for the result of a call that ended early."""
        if isinstance(self.arguments, str):
            with contextlib.suppress(ArgumentsError):
                self.arguments = parse_arguments(self.arguments)

    def replace_arguments(self, arguments: dict[str, Any]) -> None:
        """Replace the arguments. They have to be admitted again."""
        self.arguments, self.values = arguments, None
        self.__dict__.pop("params", None)

    def refuse(self, gate: Gate, response: ToolResponse) -> ToolResponse:
        """Note which gate refused the call. Returns the response."""
        self.refused = gate, response
        return response

    def refuse_in_words(self, gate: Gate, code: ErrorCode, message: str) -> ToolResponse:
        """Refuse the call with only a message. Returns the complete response."""
        response = refused(code, message, self.arguments, milliseconds_since((self.inner or self).started))
        self.refused = gate, response
        self.in_words = self.resolved is None or self.resolved.plain_render
        return response

    def milliseconds(self) -> float:
        """How long the call has run."""
        return milliseconds_since((self.inner or self).started)

    def verdict(self) -> Decision | None:
        """What was decided, if anything was."""
        if self.refused is None:
            return self.decision
        gate, response = self.refused
        reason = response.error.message if response.error else response.text
        return Decision(decision="deny", gate=gate, reason=reason)
