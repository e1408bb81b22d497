"""`ls`: the entries of one directory."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.search_text import left_out_note
from toolgate.tools.text import load_text
from toolgate.workspace import Stop, Workspace, in_thread
from toolgate.workspace.oserrors import quote

if TYPE_CHECKING:
    from toolgate.search.listing import Listing

SECONDS = 8.0
"""How long one call may look at a directory."""


class LsParams(BaseModel):
    """Arguments of `ls`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: str = Field(default=".", description="Directory, relative to the project root or absolute inside it.")
    offset: int = Field(default=0, ge=0, description="Entries to pass over; 0 starts at the first.")
    limit: int = Field(default=100, ge=1, le=100_000, description="Entries to return at the most.")
    include_hidden: bool = Field(default=False, description="Also return entries whose names begin with a dot.")
    depth: int = Field(default=1, ge=1, le=10, description="Levels to list: 2 also lists what its directories hold.")


class ListFilesTool(Tool[LsParams]):
    """Lists one directory, sorted, without following links."""

    name = "ls"
    description = load_text(__file__)
    Params = LsParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    read_only = True
    idempotent = True

    async def execute(self, params: LsParams, context: ToolContext) -> ToolResponse:
        """List it."""
        context = context.for_path(params.path)
        workspace = context.require_workspace()
        relative = workspace.relative(params.path)
        listing = await in_thread(_list, workspace, params)
        prefix = "" if relative == "." else f"{relative}/"
        entries = [_entry(prefix, name, kind) for name, kind in listing.entries]
        allowed = set(context.guard.listed([entry["path"].rstrip("/") for entry in entries], params.path))
        truncated = not listing.complete or params.offset + len(entries) < listing.total
        shown = [entry for entry in entries if entry["path"].rstrip("/") in allowed]
        data: dict[str, Any] = {"entries": shown, "truncated": truncated}
        build = ToolResponse.partial if truncated else ToolResponse.success
        return build(
            data,
            _text(params, relative, listing) + left_out_note(len(entries) - len(shown)),
            stats={"total_entries": listing.total, "hidden_entries": listing.hidden},
            context={"path_resolved": relative},
        )


def _list(stop: Stop, workspace: Workspace, params: LsParams) -> Listing:
    from toolgate.search.listing import list_directory, list_tree

    if params.depth > 1:
        return list_tree(
            lambda below: workspace.open_dir(f"{params.path.rstrip('/') or '/'}/{below}" if below else params.path),
            depth=params.depth,
            offset=params.offset,
            limit=params.limit,
            include_hidden=params.include_hidden,
            deadline=time.monotonic() + SECONDS,
            check=stop.check,
        )
    fd = workspace.open_dir(params.path)
    try:
        return list_directory(
            fd,
            offset=params.offset,
            limit=params.limit,
            include_hidden=params.include_hidden,
            deadline=time.monotonic() + SECONDS,
            check=stop.check,
        )
    finally:
        os.close(fd)


def _entry(prefix: str, name: str, kind: str) -> dict[str, str]:
    return {"path": f"{prefix}{name}{'/' if kind == 'dir' else ''}", "type": kind}


def _text(params: LsParams, relative: str, listing: Listing) -> str:
    shown, total = len(listing.entries), listing.total
    parts = [f"Listed {shown} {'entry' if shown == 1 else 'entries'} in {quote(relative)}"]
    if not listing.complete:
        parts[0] += f", out of at least {total}: the directory is very large and was not read to its end."
    elif shown < total:
        parts[0] += f" (of {total} in total, from offset {params.offset})."
    else:
        parts[0] += "."
    if listing.hidden:
        parts.append(f"{listing.hidden} hidden: pass include_hidden=true to see them.")
    if listing.unreadable_names:
        parts.append(f"{listing.unreadable_names} of the names shown are not UTF-8: U+FFFD stands for their odd bytes.")
    following = params.offset + shown
    if not listing.complete:
        parts.append("Use 'glob' with a pattern to find what you need.")
    elif following < total:
        parts.append(f"Pass offset={following} for the next entries, or a larger limit.")
    return " ".join(parts)
