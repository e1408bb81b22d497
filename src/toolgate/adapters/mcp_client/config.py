"""Servers from a config file in the format that other programs use, and what the operator gives each of their tools."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from toolgate.adapters.mcp_client.variables import Unset, expanded
from toolgate.errors import ConfigError
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.arguments import ArgumentsError, parse_arguments
from toolgate.text.redaction import is_secret_name
from toolgate.workspace.user_config import read_config

_FROZEN = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
_TABLES = ("mcpServers", "servers")
"""Where the servers stand: `mcpServers` almost everywhere, `servers` in VS Code's own file."""
_SHORTEST_SECRET = 8
_ADDRESSES = ("url", "httpUrl", "serverUrl")
_STREAMABLE = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp", "remote"})


class Grant(BaseModel):
    """What the operator gives one foreign tool. Without one, a tool is neither shown nor run."""

    model_config = _FROZEN

    modes: frozenset[ToolMode]
    """The modes in which it is shown and run."""
    read_only: bool = False
    """The operator's word that it changes nothing: then nobody is asked. What the server says about itself is not."""
    pin: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
    """The definition that is approved from the start, as `toolgate servers` shows it."""


class Gate(BaseModel):
    """A server's own `toolgate` key."""

    model_config = _FROZEN

    tools: dict[str, Grant] = Field(default_factory=dict)
    """A tool's name, or a pattern with `*`, to what it is given; the name itself wins, then the longest pattern."""
    timeout: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that one call may take."""
    start_timeout: float = Field(default=30.0, gt=0, le=600)
    """Seconds until the server must have listed its tools."""

    def grant(self, tool: str) -> Grant | None:
        """What a tool is given; None if nothing."""
        if tool in self.tools:
            return self.tools[tool]
        patterns = sorted((key for key in self.tools if "*" in key), key=len, reverse=True)
        return next((self.tools[pattern] for pattern in patterns if _fits(pattern, tool)), None)


class ServerConfig(BaseModel):
    """One server: a program to start, or an address to call."""

    model_config = _FROZEN

    name: str = Field(min_length=1, max_length=128)
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)
    cwd: str = ""
    """Where the program is started; empty, the user's home directory."""
    url: str = Field(default="", pattern=r"^(https?://.+)?$")
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    gate: Gate = Field(default_factory=Gate)

    @functools.cached_property
    def secrets(self) -> tuple[str, ...]:
        """What the server was given in confidence, and must not be repeated where everybody reads it."""
        given = [value for name, value in (*self.env.items(), *self.headers.items()) if is_secret_name(name)]
        words = [word for value in given for word in value.get_secret_value().split()]
        return tuple(word for word in words if len(word) >= _SHORTEST_SECRET)

    @functools.cached_property
    def origin(self) -> str:
        """The hash of what answers under this name: another program or address has to be approved anew."""
        document = json.dumps([self.command, self.args, self.cwd, self.url])
        return hashlib.sha256(document.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The servers that can be used, and why others cannot."""

    servers: tuple[ServerConfig, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """A server's name to the reason."""


def read_servers(path: Path | None, environ: Mapping[str, str], root: str = "") -> Configured:
    """What the file says; one that is not there has no servers. `ConfigError` says what is wrong with it.

    `root` is what `${workspaceFolder}` stands for.
    """
    if path is None:
        return Configured()
    try:
        text = read_config(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from None
    return parse_servers(text, environ, root, where=str(path)) if text is not None else Configured()


def parse_servers(text: str, environ: Mapping[str, str], root: str = "", *, where: str = "the config") -> Configured:
    """The same for a text."""
    try:
        document = parse_arguments(text)
    except ArgumentsError as error:
        raise ConfigError([f"{where}: is not JSON: {error}"]) from None
    problems: list[str] = []
    servers, refused = [], {}
    for name, entry in _entries(document, where).items():
        at = f"{where}, server {name!r}"
        if not isinstance(entry, dict):
            problems.append(f"{at}: is not an object")
            continue
        if entry.get("disabled") is True or entry.get("enabled") is False:
            refused[name] = "it is switched off in the config"
            continue
        try:
            servers.append(_server(name, entry, environ, root))
        except (Unset, _Refused) as error:
            refused[name] = str(error)
        except ValidationError as error:
            problems += [f"{at}: {line}" for line in _explained(error)]
    if problems:
        raise ConfigError(problems)
    return Configured(servers=tuple(servers), refused=refused)


class _Refused(Exception):
    """An entry that other programs understand and this one does not serve."""


def _entries(document: dict[str, Any], where: str) -> dict[str, Any]:
    """The table of servers, wherever this format has it."""
    nested = document.get("mcp")
    for holder in (document, nested if isinstance(nested, dict) else {}):
        for table in _TABLES:
            if isinstance(holder.get(table), dict):
                found: dict[str, Any] = holder[table]
                return found
    if not document:
        return {}
    example = '{"mcpServers": {"name": {"command": "program", "args": []}}}'
    raise ConfigError([f"{where}: has no servers. They stand like this: {example}"])


def _server(name: str, entry: dict[str, Any], environ: Mapping[str, str], root: str) -> ServerConfig:
    gate = Gate.model_validate(entry.get("toolgate", {}))
    kind = entry.get("type", entry.get("transport"))
    if kind == "sse":
        raise _Refused("the old SSE transport is not spoken; give the server's streamable HTTP address, type http")
    if kind is not None and kind not in _STREAMABLE | {"stdio", "local"}:
        raise _Refused(f"its type {kind!r} is not known; there are stdio and http")
    if "envFile" in entry:
        raise _Refused("envFile is not read; name the variables under env, as ${VARIABLE}")
    address = next((entry[key] for key in _ADDRESSES if entry.get(key)), "")
    command = entry.get("command", "")
    if bool(address) == bool(command) or (kind in _STREAMABLE and not address):
        raise _Refused("it needs either a command or a url")
    fields = {
        "command": command,
        "args": entry.get("args", []),
        "env": entry.get("env") or {},
        "cwd": entry.get("cwd") or "",
        "url": address,
        "headers": entry.get("headers") or {},
    }
    filled = {key: expanded(value, environ, root) for key, value in fields.items()}
    return ServerConfig.model_validate({"name": name, "gate": gate, **filled})


def _fits(pattern: str, tool: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), tool, re.DOTALL) is not None


def _explained(error: ValidationError) -> list[str]:
    prefix = "toolgate." if error.title == "Gate" else ""
    return [
        f"{prefix}{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]
