"""The pictures of a session: takes those that its user attaches to a message, and serves them again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolgate.documents.image_header import SAMPLE, image_header
from toolgate.documents.images import MAX_FILE, image_of
from toolgate.errors import SessionNotFound, ToolError, ToolgateError, TooManyPictures
from toolgate.extras import optional_imports
from toolgate.gateway.outputs import session_of, user_of
from toolgate.gateway.refused import RequestRefused
from toolgate.protocol.content import MEDIA_TYPES, StoredImage
from toolgate.text.redaction import mask
from toolgate.workspace.threads import in_thread

with optional_imports():
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, Response

if TYPE_CHECKING:
    from starlette.requests import Request

    from toolgate.gateway.auth import Authenticator
    from toolgate.gateway.service import Service
    from toolgate.protocol.request_base import AttachedImage
    from toolgate.sessions import SessionStore

_HEADERS = {
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "private, max-age=31536000, immutable",  # the address is the hash of the bytes
    "content-disposition": "inline",
}
_MAX_NAME = 200
BODY_SECONDS = 300.0
"""Seconds within which a picture has to arrive."""
_GONE = "There is no such picture, or it was removed."
_NO_SESSION = "There is no such session."
_TOO_LARGE = f"The picture is too large: at most {MAX_FILE >> 20} MiB are taken."
_TOO_SLOW = "The picture did not arrive in time: send it again."


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
        return JSONResponse({"error": _GONE}, status_code=404)
    return Response(found[1], media_type=found[0], headers=_HEADERS)


async def receive_picture(service: Service, authenticator: Authenticator, request: Request) -> Response:
    """Handle `POST /sessions/ID/pictures?name=NAME`: the body is the file. It is checked, made small, and stored."""
    user = user_of(authenticator, request)
    if isinstance(user, Response):
        return user
    try:
        session_id = await session_of(service, user, request.path_params["session_id"])
        if session_id is None:
            return JSONResponse({"error": _NO_SESSION}, status_code=404)
        async with service.uploads[user]:
            data = await _body(request)
            if data is None:
                return JSONResponse({"error": _TOO_LARGE}, status_code=413)
            name = mask(request.query_params.get("name", "")[:_MAX_NAME], service.secrets)
            async with service.decoding:
                image = await in_thread(image_of, data, name or "The picture")
            await service.sessions.add_picture(session_id, image)
    except ClientDisconnect:
        return Response(status_code=400)
    except TimeoutError:
        return JSONResponse({"error": _TOO_SLOW}, status_code=408, headers={"connection": "close"})
    except ToolError as error:
        return JSONResponse({"error": error.message}, status_code=422)
    except SessionNotFound:
        return JSONResponse({"error": _NO_SESSION}, status_code=404)
    except TooManyPictures as error:
        return JSONResponse({"error": str(error)}, status_code=413)
    except ToolgateError as error:
        return JSONResponse({"error": str(error)}, status_code=503)
    address = {"url": f"/sessions/{session_id}/pictures/{image.sha256}"}
    return JSONResponse(address | image.stored.model_dump(), status_code=201)


async def _body(request: Request) -> bytes | None:
    """The bytes of a request; None if there are too many. Raises `TimeoutError`."""
    size = request.headers.get("content-length", "")
    if size.isdecimal() and int(size) > MAX_FILE:
        return None
    data = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        async for piece in request.stream():
            data += piece
            if len(data) > MAX_FILE:
                return None
    return bytes(data)


async def stored_images(
    sessions: SessionStore, session_id: str, wanted: Sequence[AttachedImage]
) -> tuple[StoredImage, ...]:
    """The pictures that a message names; `RequestRefused` if the session does not have one of them."""
    found = []
    for image in wanted:
        row = await sessions.picture(session_id, image.sha256)
        header = None if row is None else image_header(row[1][:SAMPLE])
        if row is None or header is None:
            text = f"The session has no picture {image.name or image.sha256[:12]!r}: send it again. Nothing was stored."
            raise RequestRefused("INVALID_PARAMS", text)
        found.append(
            StoredImage(
                media_type=header.media_type,
                width=max(header.width, 1),
                height=max(header.height, 1),
                name=image.name,
                sha256=image.sha256,
                size=len(row[1]),
            )
        )
    return tuple(found)
