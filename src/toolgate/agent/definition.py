"""`AgentDefinition`: what a sub-agent is told and may use, as Markdown with front matter."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import ConfigDict, Field, ValidationError

from toolgate.declared import Declared
from toolgate.errors import ToolError
from toolgate.log import logger
from toolgate.tools.text import load_text
from toolgate.workspace.user_folders import require_plain

if TYPE_CHECKING:
    from toolgate.workspace import Workspace

PROJECT_FOLDER = ".toolgate/agents"
_BUILTIN = ("explore", "general")
_MAX_BYTES = 65_536
_MAX_AGENTS = 100
_KEYS = ("name", "description", "tools", "model")


class AgentDefinition(Declared):
    """A sub-agent."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    description: str = Field(min_length=1, max_length=500)
    tools: tuple[str, ...] | None = None
    """The tools that it may use, out of its parent's. None means all of its parent's tools; empty means none."""
    model: str | None = None
    """The name of another model than the parent's."""
    prompt: str = Field(min_length=1)
    """Its identity, in words for the model."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a definition from Markdown with front matter; `ValueError` says what is wrong with it."""
        lines = text.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
        if lines[0].rstrip() != "---" or "---" not in [line.rstrip() for line in lines[1:]]:
            raise ValueError("it must begin with front matter: a line '---', then 'name: …', then a line '---'")
        end = next(number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
        fields = _front_matter(lines[1:end])
        try:
            return cls.model_validate({**fields, "prompt": "\n".join(lines[end + 1 :]).strip()})
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
            raise ValueError("; ".join(problems)) from None


def _front_matter(lines: Iterable[str]) -> dict[str, Any]:
    """Parse the part of YAML that definitions need: `key: value`, `[a, b]`, and lists of `- item` lines."""
    fields: dict[str, Any] = {}
    key = ""
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("- ") or text == "-":
            if key != "tools" or not isinstance(fields[key], list | None):
                raise ValueError(f"a list item without a list: {text!r}")
            fields[key] = [*(fields[key] or []), _plain(text[1:])]
            continue
        key, colon, value = text.partition(":")
        key = key.strip()
        if not colon or key not in _KEYS or line[:1].isspace():
            raise ValueError(f"not understood: {text!r}; known keys are {', '.join(_KEYS)}")
        if key in fields:
            raise ValueError(f"{key!r} stands there twice")
        fields[key] = _items(value.strip()) if key == "tools" else (_plain(value) or None)
    return fields


def _items(value: str) -> list[str] | None:
    if not value:
        return None
    inner = value[1:-1] if value.startswith("[") and value.endswith("]") else value
    return [item for part in inner.split(",") if (item := _plain(part))]


def _plain(value: str) -> str:
    text = value.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


class Agents:
    """The sub-agents of a project: the built-in ones, and the project's own in `.toolgate/agents/`."""

    def __init__(self, workspace: Workspace | None = None, extra: Iterable[AgentDefinition] = ()) -> None:
        self._workspace = workspace
        self._extra = tuple(extra)
        self._ignored: set[tuple[str, str]] = set()
        """Invalid files that were reported, and why; each is reported once."""

    def all(self) -> list[AgentDefinition]:
        """All sub-agents, as the files are now. A project's agent replaces a built-in one of the same name, but gets no
        more tools.
        """
        found = {agent.name: agent for agent in (*builtin_agents(), *self._extra)}
        for agent in self._project():
            found[agent.name] = _no_wider(agent, found.get(agent.name))
        return [found[name] for name in sorted(found)]

    def get(self, name: str) -> AgentDefinition | None:
        """The sub-agent with exactly that name."""
        return next((agent for agent in self.all() if agent.name == name), None)

    def _project(self) -> Iterable[AgentDefinition]:
        if self._workspace is None:
            return
        for path in _files(self._workspace):
            try:
                yield AgentDefinition.parse(_content(self._workspace, path))
            except (ToolError, ValueError) as error:
                if (path, str(error)) not in self._ignored:
                    self._ignored.add((path, str(error)))
                    logger("agent").warning("agent_definition_ignored", path=path, reason=str(error))


def _no_wider(agent: AgentDefinition, replaced: AgentDefinition | None) -> AgentDefinition:
    """The agent without tools that the built-in one of the same name lacks: `explore` must only read."""
    if replaced is None or replaced.tools is None:
        return agent
    tools = tuple(name for name in replaced.tools if agent.tools is None or name in agent.tools)
    return agent.model_copy(update={"tools": tools})


@functools.cache
def builtin_agents() -> tuple[AgentDefinition, ...]:
    """The sub-agents that come with Toolgate."""
    folder = Path(__file__).parent / "definitions"
    return tuple(AgentDefinition.parse(load_text(str(folder / f"{name}.md"))) for name in _BUILTIN)


def _files(workspace: Workspace) -> list[str]:
    try:
        folder = workspace.open_dir(PROJECT_FOLDER)
    except ToolError:
        return []
    from toolgate.search.listing import list_directory

    try:
        listing = list_directory(
            folder, offset=0, limit=_MAX_AGENTS, include_hidden=False, deadline=time.monotonic() + 1, check=lambda: None
        )
    finally:
        os.close(folder)
    return [f"{PROJECT_FOLDER}/{name}" for name, kind in listing.entries if kind == "file" and name.endswith(".md")]


def _content(workspace: Workspace, path: str) -> str:
    require_plain(workspace, path)
    with workspace.open_file(path) as file:
        content = os.pread(file.fd, _MAX_BYTES + 1, 0)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    return content.decode()
