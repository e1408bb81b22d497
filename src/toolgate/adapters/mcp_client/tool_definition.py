"""The definition of a foreign tool: validated, hashed, and compared with the approved one."""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolgate.protocol.calls import ToolDefinition
from toolgate.text.visible import collapse_runs, visible
from toolgate.tools.foreign_schema import BY_NAME, DATA, ForeignSchema

if TYPE_CHECKING:
    from mcp_types import Tool

_MAX_NAME = 256
_MAX_DESCRIPTION = 16_384
_MAX_SCHEMA_BYTES = 131_072
_WORDS = frozenset({"title", "description", "$comment"})
_NOT_APPROVED = "{tool} of the MCP server '{server}'. Its definition has changed and is not approved yet."


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """A tool as its server currently defines it."""

    tool: str
    description: str
    parameters: dict[str, Any]
    output_schema: dict[str, Any] | None = None

    @functools.cached_property
    def digest(self) -> str:
        """The hash of name, description and schema, which an approval is bound to."""
        document = [self.tool, self.description, self.parameters]
        text = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    @functools.cached_property
    def arguments_validator(self) -> ForeignSchema:
        """The validator of a call's arguments."""
        return ForeignSchema(self.parameters)

    @functools.cached_property
    def output_validator(self) -> ForeignSchema | None:
        """The validator of structured content; None if the tool declares no output schema."""
        return None if self.output_schema is None else ForeignSchema(self.output_schema)

    @property
    def readable(self) -> str:
        """The definition as a person reads it, with hidden characters made visible."""
        schema = json.dumps(self.parameters, indent=2, sort_keys=True, ensure_ascii=True)
        return f"{collapse_runs(visible(self.description)) or '(no description)'}\n\nArguments:\n{schema}"

    def definition(self, name: str) -> ToolDefinition:
        """Return the definition for the model."""
        return ToolDefinition(name=name, description=visible(self.description), parameters=self._shown_parameters)

    @functools.cached_property
    def _shown_parameters(self) -> dict[str, Any]:
        shown: dict[str, Any] = _with_visible_words(self.parameters)
        return shown

    def diff(self, before: OfferedTool) -> str:
        """Return a line-by-line diff."""
        lines = difflib.unified_diff(
            before.readable.splitlines(), self.readable.splitlines(), "approved", "now", lineterm="", n=3
        )
        return "\n".join(lines)


def _with_visible_words(schema: Any) -> Any:
    """Return a copy of a schema in which the words for readers show their hidden characters. Values stay the same."""
    if isinstance(schema, list):
        return [_with_visible_words(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shown: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _WORDS and isinstance(value, str):
            shown[key] = visible(value)
        elif key in BY_NAME and isinstance(value, dict):
            shown[key] = {name: _with_visible_words(member) for name, member in value.items()}
        else:
            shown[key] = value if key in DATA else _with_visible_words(value)
    return shown


def withheld_definition(name: str, server: str, tool: str) -> ToolDefinition:
    """Return the definition for the model if the approved one is unknown and the current one is not approved."""
    text = _NOT_APPROVED.format(tool=tool, server=server)
    return ToolDefinition(name=name, description=text, parameters={"type": "object"})


def check_tools(tools: Iterable[Tool]) -> tuple[dict[str, OfferedTool], dict[str, str]]:
    """Return the usable tools by name, and why others are refused."""
    offers: dict[str, OfferedTool] = {}
    refused: dict[str, str] = {}
    for tool in tools:
        name = tool.name
        offered = OfferedTool(
            tool=name,
            description=(tool.description or "").strip(),
            parameters=tool.input_schema,
            output_schema=tool.output_schema,
        )
        reason = "it is listed twice" if name in offers or name in refused else _problem(offered)
        if reason is None:
            offers[name] = offered
        else:
            offers.pop(name, None)
            refused[name[:_MAX_NAME]] = reason
    return offers, refused


def definition_size(tool: Tool) -> int:
    """Return the number of characters in a definition."""
    schemas = (tool.input_schema, tool.output_schema or {})
    return len(tool.name) + len(tool.description or "") + sum(len(json.dumps(schema)) for schema in schemas)


def _problem(offered: OfferedTool) -> str | None:
    if not offered.tool or len(offered.tool) > _MAX_NAME:
        return f"its name must have 1 to {_MAX_NAME} characters"
    if len(offered.description) > _MAX_DESCRIPTION:
        return f"its description is longer than {_MAX_DESCRIPTION} characters"
    if offered.parameters.get("type") != "object":
        return "its input schema does not describe an object"
    for kind, schema in (("input", offered.parameters), ("output", offered.output_schema)):
        if schema is not None and len(json.dumps(schema)) > _MAX_SCHEMA_BYTES:
            return f"its {kind} schema cannot be used: it is larger than {_MAX_SCHEMA_BYTES} bytes"
        try:
            _ = offered.arguments_validator if kind == "input" else offered.output_validator
        except ValueError as error:
            reason = visible(str(error).partition("\n")[0], keep="")[:300]
            return f"its {kind} schema cannot be used: {reason}"
    return None
