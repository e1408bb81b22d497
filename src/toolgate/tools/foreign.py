"""`ForeignTool`: adapts a `CallableTool`, anything with a definition and a call, to `Tool`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import AnyMode
from toolgate.tools.base import CallableTool, Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.declaration import modes_of
from toolgate.tools.foreign_schema import ForeignSchema

_ENVELOPE_KEYS = {"status", "data", "text"}


class _ForeignParams(BaseModel):
    """Arguments that fit the schema of a foreign tool: kept as they came, beside the model's own attributes."""

    model_config = ConfigDict(defer_build=True)

    _arguments: dict[str, Any] = PrivateAttr()


def foreign_params(arguments: dict[str, Any]) -> BaseModel:
    """The parameters of a foreign tool that plans or executes itself."""
    params = _ForeignParams()
    params._arguments = arguments  # noqa: SLF001 - the class is this module's own
    return params


def arguments_of(params: BaseModel) -> dict[str, Any]:
    """A foreign tool's own copy of the arguments that it is called with."""
    assert isinstance(params, _ForeignParams)
    return copy.deepcopy(params._arguments)  # noqa: SLF001 - as above


class ForeignTool(Tool[BaseModel]):
    """A `CallableTool` as a `Tool`: its own schema, its own cancel, its answer put into the envelope."""

    has_params = False

    def __init__(self, target: CallableTool, modes: Iterable[AnyMode] = ()) -> None:
        definition: Any = getattr(target, "tool_definition", None)
        if not callable(target) or not all(hasattr(definition, name) for name in ToolDefinition.model_fields):
            raise TypeError(f"{target!r} is not a tool: it has to be a Tool(), or callable with a 'tool_definition'")
        self.target = target
        self.name = definition.name  # type: ignore[misc]  # a class attribute on hand-written tools
        self.description = definition.description  # type: ignore[misc]  # as above
        self.parameters = definition.parameters
        self.tool_definition = definition
        self.allowed_modes = modes_of(modes, "modes")
        _ = self.validator

    @functools.cached_property
    def validator(self) -> ForeignSchema:
        """The compiled schema; it never fetches a remote reference."""
        try:
            return ForeignSchema(self.parameters or {})
        except ValueError as error:
            raise ValueError(f"tool {self.name!r} has an invalid JSON Schema: {error}") from None

    def call(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        """Start it; what comes back may carry its own `.cancel()`."""
        return self.target(arguments)

    async def execute(self, params: BaseModel, context: ToolContext) -> ToolResponse:
        """Call it with the validated arguments."""
        return to_response(self.name, await self.call(arguments_of(params)))


def to_response(name: str, value: Any) -> ToolResponse:
    """Whatever a foreign tool returned, as an envelope."""
    if isinstance(value, ToolResponse):
        return value
    if isinstance(value, dict):
        if isinstance(value.get("error"), str):
            return _reported_failure(name, value)
        if value.keys() >= _ENVELOPE_KEYS:
            return ToolResponse.model_validate(value)
    return ToolResponse.success({"result": value}, f"{name} returned a result.")


def _reported_failure(name: str, value: dict[str, Any]) -> ToolResponse:
    """The failure of a tool that returns `"error": "Error: …"`; its other members are kept as data."""
    data = {key: item for key, item in value.items() if key != "error"}
    if value.keys() >= _ENVELOPE_KEYS:
        data = value["data"] if isinstance(value["data"], dict) else {}
    return ToolResponse.failure(
        ErrorCode.INTERNAL_ERROR,
        value["error"] or f"{name} failed.",
        data=data,
        next_step="Check the arguments, or use another tool.",
    )
