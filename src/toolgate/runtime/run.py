"""What the pipeline knows about one call, and what it knows about a tool."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

from pydantic import AliasChoices, BaseModel

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.plan import Plan
from toolgate.protocol.record import Decision, Gate
from toolgate.runtime.arguments import ArgumentsError, parse_arguments
from toolgate.runtime.execution import invoker, responder
from toolgate.runtime.scalar_arguments import scalar_arguments
from toolgate.tools.base import Answer, Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import Declaration
from toolgate.tools.foreign import ForeignTool
from toolgate.tools.function import FunctionTool


class Entry:
    """A tool with what is looked up on every call, looked up once."""

    def __init__(self, tool: Tool[Any], declaration: Declaration) -> None:
        kind = type(tool)
        self.tool = tool
        self.declaration = declaration
        self.name = declaration.name
        self.foreign = tool if isinstance(tool, ForeignTool) else None
        self.ungated = declaration.ungated
        self.prepares = kind.prepare is not Tool.prepare
        self.reroutes = kind.reroute is not Tool.reroute
        self.rests = kind.resting is not Tool.resting
        self.categorises = kind.category is not Tool.category
        self.careful = self.prepares or declaration.requires_permission or declaration.own_permission is not None
        """Whether a call may have to be planned or asked about."""
        self.direct = not self.careful and not self.reroutes
        """Whether there is nothing between admission and the tool but its turn."""
        self.plain_render = kind.render is Tool.render
        self.render: Callable[[ToolResponse], object] = tool.render
        self.writes = not declaration.read_only and declaration.exclusive
        self.invoke = invoker(tool, declaration)
        self.respond = responder(tool, self.name)
        self.scalars = scalar_arguments(tool, declaration)
        self.said = tool.said if self.plain_render and isinstance(tool, FunctionTool) else None
        """The text of the envelope around a plain value that a function returns."""
        self.passed_at = -1
        """The registry's count of changes when the tool last passed the mode gate; -1: it has to be asked."""
        self.passed_in: ToolMode | None = None
        """The mode that this was about."""
        self.example: str | None = None
        """Arguments that fit, once someone needed to see them."""
        self.keys: frozenset[str] | None = None
        """The only keys there are, where the parameter model itself would take others."""
        params = declaration.params
        if params is not None and params.model_config.get("extra") not in ("allow", "forbid"):
            self.keys = _keys(params, self.parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return self.declaration.definition.parameters

    def response_of(self, value: object) -> ToolResponse:
        """The envelope of what the tool returned."""
        return value if isinstance(value, ToolResponse) else self.respond(value)

    def read(self, arguments: str | dict[str, Any]) -> BaseModel:
        """The parameters of a call: from the JSON of a model, or from the values of an agent command.

        JSON is read strictly. The values of an agent command are not: a parameter may be a `Path` where the command
        has a text.
        """
        params = self.declaration.params
        assert params is not None
        if isinstance(arguments, str):
            return params.model_validate_json(arguments, strict=True)
        return params.model_validate(arguments)


def _keys(params: type[BaseModel], schema: dict[str, Any]) -> frozenset[str]:
    """Every key that the parameter model reads."""
    keys = set(schema.get("properties", {}))
    for name, field in params.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices):
            keys |= {choice for choice in field.validation_alias.choices if isinstance(choice, str)}
        if params.model_config.get("populate_by_name"):
            keys.add(name)
    return frozenset(keys)


class Run:
    """The state of one call on its way through the pipeline."""

    entry: Entry | None = None
    values: dict[str, Any] | None = None
    """The parameters by name, where they were read without making their model."""
    plan: Plan | None = None
    decision: Decision | None = None
    """What policy or person said."""
    refused: tuple[Gate, ToolResponse] | None = None
    """The gate that refused, with its words."""
    began = False
    """The breaker let it run and waits to hear of it."""
    inner: Run | None = None
    """The call that this one stands for."""
    answer: Answer | None = None
    """Makes the answer of this call out of the answer of `inner`."""
    executed = False
    still_running: Callable[[], bool] | None = None
    """Whether what the tool has begun goes on; None where only the tool itself knows."""
    uncertain = False
    """The call is answered, and nobody knows what it has done: its tool could not be stopped."""
    extras: dict[str, Any] | None = None

    def __init__(
        self, call_id: str, name: str, arguments: str | dict[str, Any], context: ToolContext, started: float
    ) -> None:
        self.call_id = call_id
        self.name = name
        self.context = context
        self.started = started
        self.arguments: Any = arguments
        """The parsed object, or the string where it does not parse."""

    @cached_property
    def params(self) -> Any:
        """The parameters as their model; None if they were not read."""
        return None if self.values is None else self.found.read(self.arguments)

    @property
    def found(self) -> Entry:
        """The entry, once the tool is resolved."""
        assert self.entry is not None
        return self.entry

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
        """Whether the tool plans."""
        return self.entry is not None and self.entry.prepares

    def is_broken(self, response: ToolResponse) -> bool | None:
        """Whether the tool broke; None if it did not get as far as to show it."""
        code = response.error.code if response.error is not None else None
        if code is ErrorCode.INTERNAL_ERROR:
            return True
        return False if self.executed and code is not ErrorCode.CANCELLED else None

    def read_quietly(self) -> None:
        """Have the arguments as an object, if they are one, for a call that ends before they were needed."""
        if isinstance(self.arguments, str):
            with contextlib.suppress(ArgumentsError):
                self.arguments = parse_arguments(self.arguments)

    def refuse(self, gate: Gate, response: ToolResponse) -> ToolResponse:
        """Note which gate refused; the response is handed back."""
        self.refused = gate, response
        return response

    def verdict(self) -> Decision | None:
        """What was decided, if anything was."""
        if self.refused is None:
            return self.decision
        gate, response = self.refused
        reason = response.error.message if response.error else response.text
        return Decision(decision="deny", gate=gate, reason=reason)
