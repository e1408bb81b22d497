"""Which definitions of foreign tools a person has approved: kept in a file of the user's own, beside the policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.tool_definition import Offer
from toolgate.errors import ConfigError
from toolgate.log import logger
from toolgate.workspace.user_config import read_config, update_config

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_LARGEST = 16 << 20


class _Approved(BaseModel):
    """A definition as it was when it was approved."""

    model_config = _FROZEN

    origin: str
    description: str
    parameters: dict[str, Any]


class _Book(BaseModel):
    """The file: server, tool, definition."""

    model_config = _FROZEN

    approved: dict[str, dict[str, _Approved]] = {}


class Approvals:
    """What was approved, here and by other processes of the same user. Without a path it is forgotten at the end."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._book = self._read()
        self._offers: dict[tuple[str, str], tuple[_Approved, Offer]] = {}

    def get(self, server: ServerConfig, tool: str) -> Offer | None:
        """The approved definition of a tool; None if there is none, or if something else answers under that name."""
        found = self._book.approved.get(server.name, {}).get(tool)
        if found is None or found.origin != server.origin:
            return None
        known = self._offers.get((server.name, tool))
        if known is None or known[0] is not found:
            offer = Offer(tool=tool, description=found.description, parameters=found.parameters)
            known = self._offers[server.name, tool] = found, offer
        return known[1]

    def record(self, server: ServerConfig, offer: Offer) -> None:
        """Keep that this definition is approved; blocks for a moment."""
        entry = _Approved(origin=server.origin, description=offer.description, parameters=offer.parameters)

        def added(text: str | None) -> str:
            self._book = _with(_parsed(text), server.name, offer.tool, entry)
            return json.dumps(self._book.model_dump(), ensure_ascii=True, indent=1, sort_keys=True) + "\n"

        if self._path is None:
            self._book = _with(self._book, server.name, offer.tool, entry)
            return
        try:
            update_config(self._path, added, largest=_LARGEST)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            logger("mcp").warning("mcp_approval_not_kept", server=server.name, tool_name=offer.tool, reason=reason)
            self._book = _with(self._book, server.name, offer.tool, entry)

    def _read(self) -> _Book:
        if self._path is None:
            return _Book()
        try:
            return _parsed(read_config(self._path, largest=_LARGEST))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ConfigError(
                [f"{self._path}: cannot be read: {reason}. Mend it, or remove it: then every foreign tool asks again"]
            ) from None


def _with(book: _Book, server: str, tool: str, entry: _Approved) -> _Book:
    tools = {**book.approved.get(server, {}), tool: entry}
    return _Book(approved={**book.approved, server: tools})


def _parsed(text: str | None) -> _Book:
    if text is None or not text.strip():
        return _Book()
    try:
        return _Book.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(f"it is not a list of approvals ({error.error_count()} problems)") from None
