"""The methods for whole sessions: go back, fork, retry, list, archive, delete, export."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolgate.agent.rewind import as_data, rewind_with_files
from toolgate.errors import SessionBusy, SessionNotFound
from toolgate.gateway.pictures import stored_images
from toolgate.gateway.project import project_label
from toolgate.gateway.refused import RequestRefused
from toolgate.log import logger
from toolgate.protocol import session_requests as requests
from toolgate.sessions.markdown import as_markdown
from toolgate.sessions.record import read_record
from toolgate.text.redaction import mask
from toolgate.workspace.session_outputs import copy_outputs, remove_outputs
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from toolgate.gateway.methods import Methods
    from toolgate.models.source import ModelSource
    from toolgate.protocol.requests import Request, SessionList
    from toolgate.sessions import Session

_STOPPING_SECONDS = 15.0
"""Seconds that a deletion waits for a cancelled turn to end."""


class SessionMethods:
    """The methods of one connection that are about whole sessions."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        self._service = methods.service
        self._user = methods.user
        self.by_name: dict[str, Callable[[Request, Any], Awaitable[dict[str, Any] | None]]] = {
            "chat.retry": self._retry,
            "chat.resend": self._resend,
            "session.list": self._list,
            "session.rewind": self._rewind,
            "session.fork": self._fork,
            "session.archive": self._archive,
            "session.delete": self._delete,
            "session.export": self._export,
        }

    async def _retry(self, request: Request, params: requests.ChatRetry) -> None:
        session = await self._methods.owned(params.session_id)
        seq, content = await self._service.sessions.last_user_message(session.id)
        images = await self._service.sessions.user_message_images(session.id, seq)
        await self._methods.take_turn(request, session, content, params.request_id, rewind_to=seq, images=images)

    async def _resend(self, request: Request, params: requests.ChatResend) -> None:
        session = await self._methods.owned(params.session_id)
        sessions = self._service.sessions
        seq, _ = await sessions.last_user_message(session.id)
        if params.images is None:
            images = await sessions.user_message_images(session.id, seq)
        else:
            images = await stored_images(sessions, session.id, params.images)
        await self._methods.take_turn(request, session, params.content, params.request_id, rewind_to=seq, images=images)

    async def _list(self, _request: Request, params: SessionList) -> dict[str, Any]:
        found = await self._service.sessions.find(
            self._user, search=params.search, archived=params.archived, limit=params.limit
        )
        return {
            "sessions": [
                {
                    **session_data(row.session, self._service.models),
                    "status": row.status,
                    "snippet": mask(row.snippet, self._service.secrets),
                }
                for row in found
            ]
        }

    async def _rewind(self, _request: Request, params: requests.SessionRewind) -> dict[str, Any]:
        session = await self._methods.owned(params.session_id)
        files: dict[str, list[Any]] = {"restored": [], "refused": []}
        if params.files:
            workspace = await self._service.files_of(session)
            undone = await rewind_with_files(self._service.sessions, workspace, session.id, params.seq)
            files = as_data(undone)
        else:
            await self._service.sessions.rewind(session.id, params.seq)
        return {"session_id": session.id, "seq": params.seq, "files": files}

    async def _fork(self, _request: Request, params: requests.SessionFork) -> dict[str, Any]:
        session = await self._methods.owned(params.session_id)
        made = await self._service.sessions.fork(session.id, params.seq)
        workspace, directory = self._service.workspace, self._service.output_dir
        if workspace is not None and session.project == self._service.project:
            try:
                await in_thread(copy_outputs, workspace, directory, session.id, made.id)
            except OSError as error:  # only whole outputs of the earlier session are missing
                logger("gateway").warning("outputs_not_copied", session_id=made.id, error=type(error).__name__)
        return {"session_id": made.id, "mode": made.mode.value}

    async def _archive(self, _request: Request, params: requests.SessionArchive) -> dict[str, Any]:
        session = await self._methods.owned(params.session_id)
        await self._service.sessions.archive(session.id, archived=params.archived)
        return {"session_id": session.id, "archived": params.archived}

    async def _delete(self, _request: Request, params: requests.SessionDelete) -> dict[str, Any]:
        session = await self._methods.owned(params.session_id)
        sessions = self._service.sessions
        if params.cancel:
            await self._service.turns_of(self._user).cancel(session.id)
        deleted = await self._delete_rows(session.id, wait=params.cancel)
        workspace, directory = self._service.workspace, self._service.output_dir
        if workspace is not None and session.project == self._service.project:
            await in_thread(remove_outputs, workspace, directory, session.id)
        for session_id in deleted:
            self._service.channels.deleted(session_id)
        logger("gateway").info(
            "session_deleted", session_id=session.id, sessions=len(deleted), store=type(sessions).__name__
        )
        return {"session_id": session.id, "deleted": True}

    async def _delete_rows(self, session_id: str, *, wait: bool) -> list[str]:
        """Delete a session; with `wait`, once the turn that was cancelled has ended."""
        deadline = asyncio.get_running_loop().time() + _STOPPING_SECONDS
        while True:
            try:
                return await self._service.sessions.delete(session_id)
            except SessionNotFound:  # another client was faster
                return [session_id]
            except SessionBusy as busy:
                if not wait:
                    raise RequestRefused("SESSION_BUSY", f"{busy} Or ask for both at once, with `cancel`.") from None
                if asyncio.get_running_loop().time() > deadline:
                    text = (
                        "The turn was asked to stop and has not ended yet. Nothing was deleted; try again in a moment."
                    )
                    raise RequestRefused("SESSION_BUSY", text) from None
            await asyncio.sleep(0.1)

    async def _export(self, _request: Request, params: requests.SessionExport) -> dict[str, Any]:
        session = await self._methods.owned(params.session_id)
        record = await read_record(self._service.sessions, session)
        markdown = params.format == "markdown"
        content = as_markdown(record) if markdown else json.dumps(record.document(), ensure_ascii=False, indent=2)
        return {
            "name": f"{_file_name(session)}.{'md' if markdown else 'json'}",
            "content": mask(content, self._service.secrets),
        }


def _file_name(session: Session) -> str:
    """Return a plain name for a session's file."""
    words = re.sub(r"[^\w-]+", "-", session.title.casefold()).strip("-")[:60].strip("-")
    return words or f"session-{session.id[:8]}"


def session_data(session: Session, models: ModelSource | None) -> dict[str, Any]:
    """Return what a list shows of a session."""
    return {
        "session_id": session.id,
        "mode": session.mode.value,
        "approval_mode": session.approval_mode.value,
        "title": session.title,
        "project": project_label(session.project),
        "archived": session.archived_at is not None,
        "parent_id": session.parent_id,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "model": session.model or ("" if models is None else models.default_id),
    }
