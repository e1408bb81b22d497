"""The methods for the project: what it is, its files, and what a session has changed in them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolgate.agent.rewind import as_data, undo_changes
from toolgate.gateway import files, project
from toolgate.gateway.commands import command_list
from toolgate.gateway.refused import RequestRefused
from toolgate.protocol import project_requests as requests
from toolgate.protocol.modes import ToolMode
from toolgate.search.path_completion import complete_path
from toolgate.text.redaction import mask
from toolgate.workspace.changes import changed_files
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.gateway.methods import Methods
    from toolgate.protocol.requests import Request
    from toolgate.workspace import Workspace


class ProjectMethods:
    """The methods of one connection that are about the project."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        self._service = methods.service
        self.by_name: dict[str, Callable[[Request, Any], Awaitable[dict[str, Any] | None]]] = {
            "project.info": self._info,
            "files.list": self._list,
            "files.read": self._read,
            "files.complete": self._complete,
            "changes.list": self._changes,
            "changes.undo": self._undo,
            "commands.list": self._commands,
        }

    async def _workspace(self, session_id: str) -> Workspace:
        return await self._service.files_of(await self._methods.owned(session_id))

    def _masked(self, data: dict[str, Any]) -> dict[str, Any]:
        masked: dict[str, Any] = mask(data, self._service.secrets)
        return masked

    async def _info(self, _request: Request, params: requests.ProjectInfo) -> dict[str, Any]:
        service = self._service
        enabled = service.coding_enabled
        mode = ToolMode.coding if enabled and params.mode != "chat_safe" else ToolMode.chat_safe
        data = await in_thread(project.describe, service.workspace, service.project, mode, coding_enabled=enabled)
        return self._masked({**data, "sandbox": await service.sandbox() if enabled else ""})

    async def _list(self, _request: Request, params: requests.FilesList) -> dict[str, Any]:
        workspace = await self._workspace(params.session_id)
        return self._masked(await in_thread(files.list_entries, workspace, params.path))

    async def _read(self, _request: Request, params: requests.FilesRead) -> dict[str, Any]:
        workspace = await self._workspace(params.session_id)
        return self._masked(await in_thread(files.read_lines, workspace, params.path, params.start_line))

    async def _complete(self, _request: Request, params: requests.FilesComplete) -> dict[str, Any]:
        workspace = await self._workspace(params.session_id)
        service = self._service
        paths = await in_thread(complete_path, workspace, params.query, service.output_dir, service.ripgrep)
        return self._masked({"paths": paths})

    async def _changes(self, _request: Request, params: requests.ChangesList) -> dict[str, Any]:
        workspace = await self._workspace(params.session_id)
        family = set(await self._service.sessions.family(params.session_id))
        changed = await in_thread(changed_files, workspace, family)
        rows = [
            {
                "path": file.path,
                "kind": file.kind,
                "added": file.added,
                "removed": file.removed,
                "diff": file.diff,
                "calls": [
                    {"call_id": call.call_id, "added": call.added, "removed": call.removed} for call in file.calls
                ],
            }
            for file in changed
        ]
        added, removed = (sum(getattr(file, name) for file in changed) for name in ("added", "removed"))
        return self._masked({"files": rows, "added": added, "removed": removed})

    async def _undo(self, _request: Request, params: requests.ChangesUndo) -> dict[str, Any]:
        chosen = [params.path is not None, params.call_id is not None, params.all]
        if sum(chosen) != 1:
            raise RequestRefused("INVALID_PARAMS", "Say what to take back: one `path`, one `call_id`, or `all: true`.")
        workspace = await self._workspace(params.session_id)
        undone = await undo_changes(
            self._service.sessions, workspace, params.session_id, path=params.path, call_id=params.call_id
        )
        return as_data(undone)

    async def _commands(self, _request: Request, params: requests.CommandsList) -> dict[str, Any]:
        await self._methods.owned(params.session_id)
        own = self._service.own_commands
        return self._masked({"commands": command_list([] if own is None else await asyncio.to_thread(own.all))})
