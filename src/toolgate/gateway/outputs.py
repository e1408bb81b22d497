"""Whole outputs, for whoever may see the session that they belong to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from toolgate.errors import SessionNotFound, ToolError
from toolgate.gateway.references import references
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.gateway.entry import Entry
    from toolgate.gateway.service import Service
    from toolgate.workspace import Workspace

_PIECE = 256 * 1024
_LARGEST_SEQ = 2**31
_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, no-store",
    "content-disposition": "inline",
}


class LocalBlobs:
    """The `BlobStore` of a gateway that has the workspace: files in its directory for outputs."""

    def __init__(self, workspace: Workspace, directory: str) -> None:
        self._workspace = workspace
        self._directory = directory

    async def read(self, reference: str, offset: int, length: int) -> bytes | None:
        """A piece of a file; None if it is gone, or is no output at all."""
        return await in_thread(self._read, reference, offset, length)

    def _read(self, _stop: Stop, reference: str, offset: int, length: int) -> bytes | None:
        try:
            relative = self._workspace.relative(reference)
            if not relative.startswith(f"{self._directory}/"):
                return None
            with self._workspace.open_file(relative) as file:
                return file.read(length, offset)
        except ToolError:
            return None


async def serve_output(service: Service, entry: Entry, request: Request) -> Response:
    """`GET /sessions/ID/outputs/SEQ[/NAME]`: what the result with this number was cut from."""
    identity = entry.identify(request.scope)
    if identity is None:
        return JSONResponse({"error": "Not signed in."}, status_code=401)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return JSONResponse({"error": "Only the gateway's own page may ask for this."}, status_code=403)
    path = await _path_of(service, identity.user, request.path_params)
    first = None if path is None else await service.blobs.read(path, 0, _PIECE)
    if path is None or first is None:
        return JSONResponse({"error": "There is no such output, or it was removed."}, status_code=404)
    kind = "application/json" if path.endswith(".json") else "text/plain; charset=utf-8"
    return StreamingResponse(_pieces(service, path, first), headers=_HEADERS, media_type=kind)


async def _path_of(service: Service, user: str, wanted: Mapping[str, Any]) -> str | None:
    seq = wanted["seq"]
    if not wanted["session_id"].replace("-", "").isalnum() or not 0 < seq < _LARGEST_SEQ:
        return None
    try:
        session = await service.sessions.get(wanted["session_id"])
    except SessionNotFound:
        return None
    if session.user != user:
        return None
    for event in await service.feed.events(session.id, seq - 1, limit=1):
        if event.seq == seq and event.kind == "call_finished":
            found = references(event.payload.get("data"))
            name = wanted.get("name") or next(iter(found), "")
            return found.get(name)
    return None


async def _pieces(service: Service, path: str, first: bytes) -> AsyncIterator[bytes]:
    offset, piece = 0, first
    while piece:
        yield piece
        offset += len(piece)
        piece = await service.blobs.read(path, offset, _PIECE) or b""
