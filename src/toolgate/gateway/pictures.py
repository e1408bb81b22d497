"""Serves the pictures of a session to its user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from toolgate.errors import ToolgateError
from toolgate.gateway.outputs import session_of, user_of
from toolgate.protocol.content import MEDIA_TYPES

if TYPE_CHECKING:
    from starlette.requests import Request

    from toolgate.gateway.auth import Authenticator
    from toolgate.gateway.service import Service

_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "private, max-age=31536000, immutable",  # the address is the hash of the bytes
    "content-disposition": "inline",
}


async def serve_picture(service: Service, authenticator: Authenticator, request: Request) -> Response:
    """Handle `GET /sessions/ID/pictures/SHA256`."""
    user = user_of(authenticator, request)
    if isinstance(user, Response):
        return user
    try:
        session_id = await session_of(service, user, request.path_params["session_id"])
        sha256 = request.path_params["sha256"]
        found = None if session_id is None else await service.sessions.picture(session_id, sha256)
    except ToolgateError as error:
        return JSONResponse({"error": str(error)}, status_code=503)
    if found is None or found[0] not in MEDIA_TYPES:
        return JSONResponse({"error": "There is no such picture, or it was removed."}, status_code=404)
    return Response(found[1], media_type=found[0], headers=_HEADERS)
