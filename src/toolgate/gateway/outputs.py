"""Serves complete tool outputs to the users who may see their session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolgate.errors import OutputMissing, SessionNotFound, ToolError, ToolgateError
from toolgate.extras import optional_imports
from toolgate.protocol.references import references
from toolgate.text.masking import MaskedBytes
from toolgate.workspace.outputs import open_output
from toolgate.workspace.threads import Stop, in_thread

with optional_imports():
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse

if TYPE_CHECKING:
    from toolgate.gateway.auth import Authenticator
    from toolgate.gateway.service import Service
    from toolgate.protocol.ports import BlobStore
    from toolgate.workspace import OpenedFile, Workspace

WorkspaceOf = Callable[[str], Awaitable["Workspace"]]
"""Returns the workspace as a session sees it."""
_CHUNK = 256 * 1024
_MAX_SEQ = 2**31
_GONE = "There is no such output, or it was removed."
_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, no-store",
    "content-disposition": "inline",
}


class LocalBlobs:
    """The `BlobStore` of a gateway with a workspace: files in the output directory."""

    def __init__(self, workspace_of: WorkspaceOf, directory: str) -> None:
        """`workspace_of` returns the workspace as a session sees it."""
        self._workspace_of = workspace_of
        self._directory = directory

    async def pieces(self, session_id: str, reference: str) -> AsyncIterator[bytes]:
        """Yield the file, if it is an output of the session."""
        workspace = await self._workspace_of(session_id)
        (await in_thread(self._opened, workspace, reference)).close()
        return self._pieces(workspace, reference)

    async def _pieces(self, workspace: Workspace, reference: str) -> AsyncIterator[bytes]:
        with await in_thread(self._opened, workspace, reference) as file:
            for offset in range(0, file.stat.st_size, _CHUNK):
                length = min(_CHUNK, file.stat.st_size - offset)
                piece = await in_thread(lambda _stop, at, size: file.read(size, at), offset, length)
                if len(piece) < length:
                    raise OutputMissing(_GONE)
                yield piece

    def _opened(self, _stop: Stop, workspace: Workspace, reference: str) -> OpenedFile:
        try:
            return open_output(workspace, self._directory, reference)
        except ToolError as error:
            raise OutputMissing(_GONE) from error


class FallbackBlobs:
    """The `BlobStore` of a gateway that also runs turns: the workers' store first, then the local workspace."""

    def __init__(self, stored: BlobStore, local: BlobStore) -> None:
        self._stored = stored
        self._local = local

    async def pieces(self, session_id: str, reference: str) -> AsyncIterator[bytes]:
        """Yield from the first store that has it; if neither has, raise the first store's error."""
        try:
            return await self._stored.pieces(session_id, reference)
        except OutputMissing as missing:
            try:
                return await self._local.pieces(session_id, reference)
            except OutputMissing:
                raise missing from None


async def serve_output(service: Service, authenticator: Authenticator, request: Request) -> Response:
    """Handle `GET /sessions/ID/outputs/SEQ[/NAME]`: the complete output of a truncated result."""
    user = user_of(authenticator, request)
    if isinstance(user, Response):
        return user
    try:
        found = await _reference(service, user, request.path_params)
        if found is None:
            raise OutputMissing(_GONE)
        pieces = await service.blobs.pieces(*found)
    except OutputMissing as error:
        return JSONResponse({"error": str(error)}, status_code=404)
    except ToolgateError as error:
        return JSONResponse({"error": str(error)}, status_code=503)
    kind = "application/json" if found[1].endswith(".json") else "text/plain; charset=utf-8"
    return StreamingResponse(_masked(pieces, service.secrets), headers=_HEADERS, media_type=kind)


def user_of(authenticator: Authenticator, request: Request) -> str | Response:
    """Return whose request this is, or why it is refused."""
    identity = authenticator.identify(request.scope)
    if identity is None:
        return JSONResponse({"error": "Not signed in."}, status_code=401)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return JSONResponse({"error": "Only the gateway's own page may request this."}, status_code=403)
    return identity.user


async def session_of(service: Service, user: str, session_id: str) -> str | None:
    """Return the id of a session; None unless it belongs to this user."""
    if not session_id.replace("-", "").isalnum():
        return None
    try:
        session = await service.sessions.get(session_id)
    except SessionNotFound:
        return None
    return session.id if session.user == user else None


async def _reference(service: Service, user: str, wanted: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the session and the reference of the output; None unless it belongs to this user."""
    seq = wanted["seq"]
    session_id = await session_of(service, user, wanted["session_id"]) if 0 < seq < _MAX_SEQ else None
    if session_id is None:
        return None
    for event in await service.feed.events(session_id, seq - 1, limit=1):
        if event.seq == seq and event.kind == "call_finished":
            found = references(event.payload.get("data"))
            name = wanted.get("name") or next(iter(found), "")
            return (session_id, found[name]) if name in found else None
    return None


async def _masked(pieces: AsyncIterator[bytes], secrets: tuple[str, ...]) -> AsyncIterator[bytes]:
    """Mask the gateway's own secrets; output is stored as it was printed."""
    stream = MaskedBytes(secrets)
    async for piece in pieces:
        yield stream.feed(piece)
    yield stream.flush()
