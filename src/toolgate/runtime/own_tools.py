"""Tools of a program beside the built-in ones: adding them, and choosing among all of them by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolgate.errors import DeclarationError
from toolgate.runtime.registry import ToolRegistry
from toolgate.tools.base import CallableTool, Tool


def add_tools(registry: ToolRegistry, tools: Iterable[Tool[Any] | CallableTool]) -> None:
    """Add tools to a registry. A bare `CallableTool` has no modes: it was handed over deliberately and always shown.

    Raises `DeclarationError` or `ValueError` for a name that providers refuse or that is taken, and `TypeError` for an
    object that is not a tool.
    """
    given: object = tools
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"tools must be a list of tools, not {given!r:.80}: write tools=[my_tool]")
    for tool in given:
        if isinstance(tool, Tool):
            registry.register(tool)
        elif isinstance(tool, type):
            raise DeclarationError(f"{tool.__name__} is a class: pass an instance of it, {tool.__name__}()")
        elif callable(tool) and not hasattr(tool, "tool_definition"):
            name = getattr(tool, "__name__", type(tool).__name__)
            raise DeclarationError(f"{name} is a plain function: decorate it with @tool(modes=[ToolMode.chat_safe])")
        else:
            from toolgate.tools.foreign import ForeignTool

            registry.add(ForeignTool(tool), ungated=True)


def only_named(registry: ToolRegistry, names: Iterable[str] | None) -> ToolRegistry:
    """Return a view of the tools with these names; None means all. Raises `ValueError` for an unknown name."""
    if names is None:
        return registry
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f'only must be a list of names, not {names!r:.80}: write only=["read_file", "grep"]')
    wanted = list(names)
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(
                f'only must be a list of names, and {name!r:.80} is not a name: write only=["read_file", "grep"]'
            )
        if registry.declaration(name) is None:
            raise ValueError(f"only names {name!r}, and there is no such tool. {_meant(name, registry.names())}")
    return registry.filter(wanted)


def _meant(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
