"""Remembers which definitions of foreign tools a person has approved, in a file beside the user's policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.tool_definition import OfferedTool
from toolgate.errors import ConfigError
from toolgate.log import logger
from toolgate.workspace.user_config import read_config, update_config

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_MAX_FILE_BYTES = 16 << 20


class _ApprovedDefinition(BaseModel):
    """A definition as it was approved."""

    model_config = _FROZEN

    origin: str
    description: str
    parameters: dict[str, Any]


class _ApprovalFile(BaseModel):
    """The file's content: definitions by server and tool."""

    model_config = _FROZEN

    approved: dict[str, dict[str, _ApprovedDefinition]] = {}


class ApprovedDefinitions:
    """The approved definitions of this user, shared by all processes. Without a path they are kept in memory only."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file = self._read()
        self._offers: dict[tuple[str, str], tuple[_ApprovedDefinition, OfferedTool]] = {}

    def get(self, server: ServerConfig, tool: str) -> OfferedTool | None:
        """Return the approved definition of a tool; None if there is none, or if it was approved for another origin."""
        found = self._file.approved.get(server.name, {}).get(tool)
        if found is None or found.origin != server.origin:
            return None
        earlier = self._offers.get((server.name, tool))
        if earlier is None or earlier[0] is not found:
            offered = OfferedTool(tool=tool, description=found.description, parameters=found.parameters)
            earlier = self._offers[server.name, tool] = found, offered
        return earlier[1]

    def record(self, server: ServerConfig, offered: OfferedTool) -> None:
        """Store that this definition is approved. This blocks for a moment."""
        entry = _ApprovedDefinition(
            origin=server.origin, description=offered.description, parameters=offered.parameters
        )

        def added(text: str | None) -> str:
            self._file = _added(_parse(text), server.name, offered.tool, entry)
            return json.dumps(self._file.model_dump(), ensure_ascii=True, indent=1, sort_keys=True) + "\n"

        if self._path is None:
            self._file = _added(self._file, server.name, offered.tool, entry)
            return
        try:
            update_config(self._path, added, largest=_MAX_FILE_BYTES)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            logger("mcp").warning("mcp_approval_not_kept", server=server.name, tool_name=offered.tool, reason=reason)
            self._file = _added(self._file, server.name, offered.tool, entry)

    def _read(self) -> _ApprovalFile:
        if self._path is None:
            return _ApprovalFile()
        try:
            return _parse(read_config(self._path, largest=_MAX_FILE_BYTES))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ConfigError(
                [f"{self._path}: cannot be read: {reason}. Repair it, or remove it: then every foreign tool asks again"]
            ) from None


def _added(file: _ApprovalFile, server: str, tool: str, entry: _ApprovedDefinition) -> _ApprovalFile:
    tools = {**file.approved.get(server, {}), tool: entry}
    return _ApprovalFile(approved={**file.approved, server: tools})


def _parse(text: str | None) -> _ApprovalFile:
    if text is None or not text.strip():
        return _ApprovalFile()
    try:
        return _ApprovalFile.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(f"it is not a list of approvals ({error.error_count()} problems)") from None
