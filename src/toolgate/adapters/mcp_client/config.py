"""Reads the config file of MCP servers, in the common format plus a `toolgate` key for the operator's grants."""

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

from toolgate.adapters.mcp_client.variables import UnresolvedVariable, expand
from toolgate.errors import ConfigError
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.arguments import ArgumentsError, parse_arguments
from toolgate.text.redaction import is_secret_name
from toolgate.workspace.user_config import read_config

_FROZEN = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
_SERVER_KEYS = ("mcpServers", "servers")
"""Keys that may hold the servers: `mcpServers` almost everywhere, `servers` in VS Code's file."""
_MIN_SECRET_LENGTH = 8
_URL_KEYS = ("url", "httpUrl", "serverUrl")
_HTTP_TYPES = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp", "remote"})


class Grant(BaseModel):
    """What the operator permits one foreign tool. A tool without a grant is neither shown nor run."""

    model_config = _FROZEN

    modes: frozenset[ToolMode]
    """The modes in which the tool is shown and run."""
    read_only: bool = False
    """The operator's statement that the tool changes nothing, so no approval is needed. The server's own is ignored."""
    pin: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
    """The digest of a definition that is approved from the start, as `toolgate servers` shows it."""


class ServerOptions(BaseModel):
    """The `toolgate` key of a server."""

    model_config = _FROZEN

    tools: dict[str, Grant] = Field(default_factory=dict)
    """Grants by tool name or pattern with `*`. The exact name wins, then the longest pattern."""
    timeout: float = Field(default=60.0, gt=0, le=3600)
    """Maximum seconds per call."""
    start_timeout: float = Field(default=30.0, gt=0, le=600)
    """Seconds within which the server must have listed its tools."""

    def grant(self, tool: str) -> Grant | None:
        """Return the grant of a tool; None if there is none."""
        if tool in self.tools:
            return self.tools[tool]
        patterns = sorted((key for key in self.tools if "*" in key), key=len, reverse=True)
        return next((self.tools[pattern] for pattern in patterns if _matches(pattern, tool)), None)


class ServerConfig(BaseModel):
    """One server: a program to start or a URL to connect to."""

    model_config = _FROZEN

    name: str = Field(min_length=1, max_length=128)
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)
    cwd: str = ""
    """The program's working directory; empty means the user's home directory."""
    url: str = Field(default="", pattern=r"^(https?://.+)?$")
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    options: ServerOptions = Field(default_factory=ServerOptions)

    @functools.cached_property
    def secrets(self) -> tuple[str, ...]:
        """Values from the config that must not appear in output."""
        given = [value for name, value in (*self.env.items(), *self.headers.items()) if is_secret_name(name)]
        words = [word for value in given for word in value.get_secret_value().split()]
        return tuple(word for word in words if len(word) >= _MIN_SECRET_LENGTH)

    @functools.cached_property
    def origin(self) -> str:
        """A hash of the program or URL. If it changes, the tools need a new approval."""
        document = json.dumps([self.command, self.args, self.cwd, self.url])
        return hashlib.sha256(document.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig:
    """The usable servers, and why others cannot be used."""

    servers: tuple[ServerConfig, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons by server name."""


def read_servers(path: Path | None, environ: Mapping[str, str], root: str = "") -> McpConfig:
    """Read the config file. A missing file has no servers. Raises `ConfigError` if the file is invalid.

    `root` is the value of `${workspaceFolder}`.
    """
    if path is None:
        return McpConfig()
    try:
        text = read_config(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError([f"{path}: cannot be read: {reason}"]) from None
    return parse_servers(text, environ, root, where=str(path)) if text is not None else McpConfig()


def parse_servers(text: str, environ: Mapping[str, str], root: str = "", *, where: str = "the config") -> McpConfig:
    """Parse the text of a config file."""
    if not isinstance(text, str):
        raise TypeError(f"parse_servers takes JSON text, not a {type(text).__name__}: write json.dumps(…)")
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
            refused[name] = "it is disabled in the config"
            continue
        try:
            servers.append(_server(name, entry, environ, root))
        except (UnresolvedVariable, _Unsupported) as error:
            refused[name] = str(error)
        except ValidationError as error:
            problems += [f"{at}: {line}" for line in _describe(error)]
    if problems:
        raise ConfigError(problems)
    return McpConfig(servers=tuple(servers), refused=refused)


class _Unsupported(Exception):
    """The entry is valid, but Toolgate does not support it."""


def _entries(document: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the table of servers under any of its known keys."""
    nested = document.get("mcp")
    for holder in (document, nested if isinstance(nested, dict) else {}):
        for table in _SERVER_KEYS:
            if isinstance(holder.get(table), dict):
                found: dict[str, Any] = holder[table]
                return found
    if not document:
        return {}
    example = '{"mcpServers": {"name": {"command": "program", "args": []}}}'
    raise ConfigError([f"{where}: has no servers. The format is: {example}"])


def _server(name: str, entry: dict[str, Any], environ: Mapping[str, str], root: str) -> ServerConfig:
    options = ServerOptions.model_validate(entry.get("toolgate", {}))
    kind = entry.get("type", entry.get("transport"))
    if kind == "sse":
        raise _Unsupported(
            "the old SSE transport is not supported; give the server's streamable HTTP address, type http"
        )
    if kind is not None and kind not in _HTTP_TYPES | {"stdio", "local"}:
        raise _Unsupported(f"its type {kind!r} is unknown; the types are stdio and http")
    if "envFile" in entry:
        raise _Unsupported("envFile is not supported; name the variables under env, as ${VARIABLE}")
    address = next((entry[key] for key in _URL_KEYS if entry.get(key)), "")
    command = entry.get("command", "")
    if bool(address) == bool(command) or (kind in _HTTP_TYPES and not address):
        raise _Unsupported("it needs either a command or a url")
    fields = {
        "command": command,
        "args": entry.get("args", []),
        "env": entry.get("env") or {},
        "cwd": entry.get("cwd") or "",
        "url": address,
        "headers": entry.get("headers") or {},
    }
    filled = {key: expand(value, environ, root) for key, value in fields.items()}
    return ServerConfig.model_validate({"name": name, "options": options, **filled})


def _matches(pattern: str, tool: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), tool, re.DOTALL) is not None


def _describe(error: ValidationError) -> list[str]:
    prefix = "toolgate." if error.title == "ServerOptions" else ""
    return [
        f"{prefix}{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]
