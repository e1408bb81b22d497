"""`ResolvedTool`: a registered tool with everything that its calls need, looked up once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from pydantic import AliasChoices, BaseModel

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.runtime.execution import invoker, responder
from toolgate.runtime.repair import example_of
from toolgate.runtime.scalar_arguments import scalar_arguments
from toolgate.tools.base import Tool
from toolgate.tools.declaration import Declaration
from toolgate.tools.foreign import ForeignTool
from toolgate.tools.function import FunctionTool


class ResolvedTool:
    """A tool, what it declared, and which of the optional methods it has."""

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
        """Whether a call may have to be planned, or may need an approval."""
        self.plain_render = kind.render is Tool.render
        self.render: Callable[[ToolResponse], object] = tool.render
        self.writes = not declaration.read_only and declaration.exclusive
        self.invoke = invoker(tool, declaration)
        self.respond = responder(tool, self.name)
        self.scalars = scalar_arguments(tool, declaration)
        self.success_text = tool.success_text if self.plain_render and isinstance(tool, FunctionTool) else None
        """The text of the envelope around a plain value that a function returns."""
        self.passed_at_change = -1
        """The registry's change count when the tool last passed the mode gate; -1: the gate has to be checked."""
        self.passed_in_mode: ToolMode | None = None
        """The mode in which it passed."""
        self.passed_in_approval_mode: ApprovalMode | None = None
        """The approval mode in which it passed."""
        self.keys: frozenset[str] | None = None
        """The only accepted keys, if the parameter model itself would accept others; None: the model decides."""
        params = declaration.params
        if params is not None and params.model_config.get("extra") not in ("allow", "forbid"):
            self.keys = _keys(params, self.parameters)

    @cached_property
    def example(self) -> str:
        """Example arguments for repair messages."""
        return example_of(self.parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return self.declaration.definition.parameters

    def response_of(self, value: object) -> ToolResponse:
        """The envelope of what the tool returned."""
        return value if isinstance(value, ToolResponse) else self.respond(value)

    def read(self, arguments: str | dict[str, Any]) -> BaseModel:
        """Validate the arguments of a call: the JSON of a model, or the values of an agent command.

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
