"""Client roots: a client may narrow the project that it works on, but never widen it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from toolgate.errors import PolicyError, ToolError
from toolgate.log import logger
from toolgate.runtime.approval_modes import is_run_by_others
from toolgate.runtime.policy.load import read_user_file
from toolgate.runtime.policy_source import PROJECT_POLICY
from toolgate.workspace import Workspace
from toolgate.workspace.secret_files import PATHS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from toolgate.settings import Settings

_ROOTS_TIMEOUT = 10.0
"""Seconds that a client has to list its roots."""


async def client_roots(ctx: ServerRequestContext[Any, Any]) -> list[str]:
    """Return the client's root directories; none if the client cannot be asked or does not answer."""
    session = ctx.session
    offered = session.client_capabilities
    if offered is None or offered.roots is None or not session.can_send_request:
        return []
    try:
        found = await session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=_ROOTS_TIMEOUT,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError) as error:
        logger("mcp").warning("client_roots_unknown", error=type(error).__name__)
        return []
    return [path for root in found.roots if (path := _path(str(root.uri)))]


def narrowed_workspace(workspace: Workspace, roots: list[str], settings: Settings | None = None) -> Workspace | None:
    """Return the workspace of the first root inside the operator's project; None to keep the project.

    A root outside the project changes nothing. Neither does any root if the project has a policy, or if the user's has
    rules about paths or about this project: they name the whole project's paths and must not be lost.
    """
    for root in roots:
        relative = _beneath(workspace, root)
        if relative is None:
            continue
        if relative == "." or _has_policy(workspace) or (settings is not None and rules_need_root(settings)):
            return None
        if _is_named_place(relative):
            continue
        try:
            fd = workspace.open_dir(relative)
        except ToolError as error:
            logger("mcp").warning("client_root_ignored", error=error.code.value)
            continue
        try:
            return Workspace(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
    return None


def _beneath(workspace: Workspace, root: str) -> str | None:
    """Return the root's path in the workspace with links resolved; None if it is outside or protected."""
    try:
        located = workspace.locate(root)
    except ToolError:
        return None
    relative = "/".join(located.parts) or "."
    return None if workspace.is_protected(relative) else relative


def rules_need_root(settings: Settings, *, unreadable: bool = True) -> bool:
    """Whether the user's rules name paths of the project, or the project; `unreadable` if they cannot be read."""
    if settings.policy_file is None:
        return False
    try:
        rules = read_user_file(settings.policy_file).rules
    except PolicyError:
        return unreadable
    return any(rule.project is not None or rule.condition()[0] == "args" for rule in rules)


def _is_named_place(relative: str) -> bool:
    """Whether files are judged by the name of this directory: without it, they would be ordinary files."""
    home = {".config", ".local", *(pattern.split("/")[0] for kind in PATHS.values() for pattern in kind.split())}
    return is_run_by_others(f"{relative}/x") or not home.isdisjoint(relative.lower().split("/"))


def _has_policy(workspace: Workspace) -> bool:
    try:
        return workspace.stat(PROJECT_POLICY) is not None
    except ToolError:
        return True


def _path(uri: str) -> str | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return path if path.startswith("/") and "\0" not in path else None
