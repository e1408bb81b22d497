"""Tools from outside: from installed packages (entry point group `toolgate.tools`) and from `--tools module:attribute`.

Lives here: finding, importing and checking them. Every mistake is one sentence, before anything starts.
May touch: the import system, and the metadata of installed packages.
Start reading: `load_tools`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from toolgate.errors import ConfigError
from toolgate.runtime.registry import ToolRegistry
from toolgate.tools.base import CallableTool, Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "toolgate.tools"
"""The entry point group that packages offer tools in."""
_EXAMPLE = "for example shop.tools:TOOLS"


class ToolSource(NamedTuple):
    """Tools, and where they come from."""

    origin: str
    """For people: `--tools shop.tools:TOOLS`, or the package and its version."""
    tools: tuple[Tool[Any], ...]


def load_tools(named: Sequence[str] = (), *, installed: bool = True) -> list[ToolSource]:
    """Import the tools of installed packages and those that are named. Raises `ConfigError` for what is not a tool.

    The modes of a tool apply as usual: a tool without modes is neither shown nor run.
    """
    sources = [_from_entry_point(entry) for entry in entry_points()] if installed else []
    sources += [_named(text) for text in dict.fromkeys(named)]
    _check_together(sources)
    return sources


def tools_of(sources: Iterable[ToolSource]) -> list[Tool[Any]]:
    """All tools of the sources, in their order."""
    return [tool for source in sources for tool in source.tools]


def entry_points() -> list[EntryPoint]:
    """The entry points of installed packages, by name. The metadata is read only if a package has the group."""
    if not any(map(_has_group, sys.path)):
        return []
    import importlib.metadata

    return sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)


def _has_group(directory: str) -> bool:
    """Whether a package in a directory of the import path names the group; a quick look, because most have none."""
    wanted = f"[{GROUP}]".encode()
    try:
        names = os.listdir(directory or ".")
    except OSError:
        return False
    packages = (name for name in names if name.endswith((".dist-info", ".egg-info")))
    return any(wanted in _entry_points_file(os.path.join(directory, name)) for name in packages)


def _entry_points_file(package: str) -> bytes:
    """The file in which a package names its entry points; empty if it has none."""
    try:
        with open(os.path.join(package, "entry_points.txt"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _from_entry_point(entry: EntryPoint) -> ToolSource:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.name
    what = f"entry point {entry.name!r} of {package}"
    advice = f"mend or uninstall {entry.dist.name if entry.dist is not None else 'the package'}"
    return ToolSource(origin=package, tools=_tools(what, _imported(what, entry.value, advice), advice))


def _named(text: str) -> ToolSource:
    what = f"--tools {text}"
    advice = "name a tool, a list of tools or a function that returns one"
    module, colon, attribute = text.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise ConfigError([f"--tools is module:attribute, {_EXAMPLE}, not {text!r}"])
    return ToolSource(origin=what, tools=_tools(what, _imported(what, text, "mend the module"), advice))


def _imported(what: str, reference: str, advice: str) -> object:
    module, _, attribute = (part.strip() for part in reference.partition(":"))
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        where = "install its package, or set PYTHONPATH to the directory that it is in"
        raise ConfigError([f"{what}: there is no module {missing!r}: {where}"]) from error
    except Exception as error:
        raise ConfigError([f"{what}: importing {module} raised {_summary(error)}: {advice}"]) from error
    for name in filter(None, attribute.split(".")):
        if not hasattr(found, name):
            import difflib

            near = difflib.get_close_matches(name, dir(found), n=1)
            meant = f"did you mean {near[0]}?" if near else advice
            raise ConfigError([f"{what}: {module} has no {name!r}: {meant}"])
        found = getattr(found, name)
    return found


def _tools(what: str, found: object, advice: str) -> tuple[Tool[Any], ...]:
    """The tools in a value: a tool, several, a registry, or a class or function that makes one of these."""
    if callable(found) and (isinstance(found, type) or not isinstance(found, CallableTool | Tool)):
        found = _called(what, found, advice)
    if isinstance(found, ToolRegistry):
        found = [found.get(name) for name in found.names()]
    items = list(found) if isinstance(found, list | tuple | set | frozenset) else [found]
    for item in items:
        if not isinstance(item, Tool | CallableTool) or isinstance(item, type):
            shown = getattr(item, "__qualname__", None) or f"{item!r:.80}"
            raise ConfigError([f"{what}: {shown} is not a tool: decorate a function with @tool, or {advice}"])
    if not items:
        raise ConfigError([f"{what}: there is no tool in it: {advice}"])
    from toolgate.tools.foreign import ForeignTool

    return tuple(item if isinstance(item, Tool) else ForeignTool(cast("CallableTool", item)) for item in items)


def _called(what: str, make: Callable[..., object], advice: str) -> object:
    try:
        needed = [
            parameter.name
            for parameter in inspect.signature(make).parameters.values()
            if parameter.default is parameter.empty and parameter.kind < parameter.VAR_POSITIONAL
        ]
    except (TypeError, ValueError):
        needed = []
    if needed:
        name = getattr(make, "__name__", type(make).__name__)
        raise ConfigError(
            [f"{what}: {name} needs arguments ({', '.join(needed)}): decorate it with @tool, or {advice}"]
        )
    try:
        return make()
    except Exception as error:
        raise ConfigError([f"{what}: calling it raised {_summary(error)}: {advice}"]) from error


def _check_together(sources: Sequence[ToolSource]) -> None:
    """Register all of them beside the built-in tools, so that a bad or taken name is an error before the start."""
    from toolgate.runtime.builtin import agent_registry

    if not sources:
        return
    registry = agent_registry()
    for source in sources:
        for tool in source.tools:
            try:
                registry.add(tool)
            except (ValueError, TypeError) as error:
                raise ConfigError([f"{source.origin}: {error}"]) from error


def _summary(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f' ({text[:200]})' if text else ''}"
