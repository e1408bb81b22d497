"""Deferred tools: named in the prompt, with a schema in the requests of a session only after it was asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from toolgate.agent.compaction import tokens_of_tools
from toolgate.runtime.registry import ToolRegistry
from toolgate.text.visible import visible
from toolgate.tools.declaration import Declaration
from toolgate.tools.names import LOAD_TOOL

_MAX_KNOWN = 64
_MAX_LINE = 100
"""Characters of a deferred tool's description in the prompt."""


def deferred_tools(declarations: Iterable[Declaration]) -> list[Declaration]:
    """The visible tools that a request only names; none if `load_tools` is missing, which could load them."""
    declarations = list(declarations)
    if not any(tool.name == LOAD_TOOL for tool in declarations):
        return []
    return [tool for tool in declarations if tool.deferred]


def offered_schemas(
    registry: ToolRegistry, modes: tuple[Any, ...], loaded: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The schemas of a request: every visible tool, without deferred ones that are not loaded."""
    hidden = {tool.name for tool in deferred_tools(registry.list_declarations(*modes))}.difference(loaded)
    return [entry for entry in registry.get_tools_schema(*modes) if entry["function"]["name"] not in hidden]


class OfferedTools:
    """The schemas of requests and their tokens, made again only when the visible tools have changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[list[Declaration], list[dict[str, Any]], int]] = {}

    def of(
        self, registry: ToolRegistry, modes: tuple[Any, ...], loaded: Collection[str] = ()
    ) -> tuple[list[dict[str, Any]], int]:
        """The schemas of a request, which are shared, and their approximate number of tokens."""
        key, declarations = (*modes, frozenset(loaded)), registry.list_declarations(*modes)
        known = self._known.get(key)
        if known is None or known[0] != declarations or not registry.is_cacheable:
            schemas = offered_schemas(registry, modes, loaded)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = declarations, schemas, tokens_of_tools(schemas)
        return known[1], known[2]


def short_line(tool: Declaration) -> str:
    """A name and a few words: the first sentence of the description, on one line."""
    words = visible(" ".join(tool.definition.description.split()))
    sentence = words.partition(". ")[0].rstrip(".")
    if len(sentence) > _MAX_LINE:
        sentence = sentence[:_MAX_LINE].rsplit(" ", 1)[0] + " …"
    return f"- {tool.name}: {sentence}" if sentence else f"- {tool.name}"
