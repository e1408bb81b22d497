"""What a server says about one of its tools: checked, hashed, and compared with what was approved."""

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
from toolgate.tools.foreign_schema import ForeignSchema

if TYPE_CHECKING:
    from mcp_types import Tool

_LONGEST_NAME = 256
_LONGEST_DESCRIPTION = 16_384
_LARGEST_SCHEMA = 131_072
_NOT_APPROVED = "{tool} of the MCP server '{server}'. Its definition has changed and is not approved yet."


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A tool as its server defines it now."""

    tool: str
    description: str
    parameters: dict[str, Any]
    output_schema: dict[str, Any] | None = None

    @functools.cached_property
    def digest(self) -> str:
        """The hash that an approval is bound to: name, description and schema."""
        document = [self.tool, self.description, self.parameters]
        text = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"

    @functools.cached_property
    def judge(self) -> ForeignSchema:
        """What judges the arguments of a call."""
        return ForeignSchema(self.parameters)

    @functools.cached_property
    def promise(self) -> ForeignSchema | None:
        """What judges the structured part of an answer; None if nothing is promised."""
        return None if self.output_schema is None else ForeignSchema(self.output_schema)

    @property
    def shown(self) -> str:
        """The definition as a person reads it: nothing in it is hidden."""
        schema = json.dumps(self.parameters, indent=2, sort_keys=True, ensure_ascii=True)
        return f"{collapse_runs(visible(self.description)) or '(no description)'}\n\nArguments:\n{schema}"

    def definition(self, name: str) -> ToolDefinition:
        """What a model is told."""
        return ToolDefinition(name=name, description=visible(self.description), parameters=self.parameters)

    def difference(self, before: Offer) -> str:
        """What has changed, line by line."""
        lines = difflib.unified_diff(
            before.shown.splitlines(), self.shown.splitlines(), "approved", "now", lineterm="", n=3
        )
        return "\n".join(lines)


def withheld(name: str, server: str, tool: str) -> ToolDefinition:
    """What a model is told where neither the approved definition is known nor the present one approved."""
    text = _NOT_APPROVED.format(tool=tool, server=server)
    return ToolDefinition(name=name, description=text, parameters={"type": "object"})


def checked(tools: Iterable[Tool]) -> tuple[dict[str, Offer], dict[str, str]]:
    """The usable offers by name, and why others are refused."""
    offers: dict[str, Offer] = {}
    refused: dict[str, str] = {}
    for tool in tools:
        name = tool.name
        offer = Offer(
            tool=name,
            description=(tool.description or "").strip(),
            parameters=tool.input_schema,
            output_schema=tool.output_schema,
        )
        reason = "it is listed twice" if name in offers or name in refused else _problem(offer)
        if reason is None:
            offers[name] = offer
        else:
            offers.pop(name, None)
            refused[name[:_LONGEST_NAME]] = reason
    return offers, refused


def weight(tool: Tool) -> int:
    """Characters of a definition."""
    schemas = (tool.input_schema, tool.output_schema or {})
    return len(tool.name) + len(tool.description or "") + sum(len(json.dumps(schema)) for schema in schemas)


def _problem(offer: Offer) -> str | None:
    if not offer.tool or len(offer.tool) > _LONGEST_NAME:
        return f"its name must have 1 to {_LONGEST_NAME} characters"
    if len(offer.description) > _LONGEST_DESCRIPTION:
        return f"its description is longer than {_LONGEST_DESCRIPTION} characters"
    if offer.parameters.get("type") != "object":
        return "its input schema does not describe an object"
    for what, schema in (("input", offer.parameters), ("output", offer.output_schema)):
        if schema is not None and len(json.dumps(schema)) > _LARGEST_SCHEMA:
            return f"its {what} schema cannot be used: it is larger than {_LARGEST_SCHEMA} bytes"
        try:
            _ = offer.judge if what == "input" else offer.promise
        except ValueError as error:
            reason = visible(str(error).partition("\n")[0], keep="")[:300]
            return f"its {what} schema cannot be used: {reason}"
    return None
