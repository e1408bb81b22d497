"""Authenticates clients: tokens for sockets, and for the page a key in exchange for a code or a token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from toolgate.extras import optional_imports
from toolgate.gateway.access import FIRST_FRAME, SUBPROTOCOL, Identity
from toolgate.gateway.connection import ClientConnection
from toolgate.gateway.guard import ABORT, Receive, Scope, Send, refuse
from toolgate.gateway.projection import error
from toolgate.log import logger

with optional_imports():
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response

if TYPE_CHECKING:
    from toolgate.gateway.service import Service

_FIRST_FRAME_SECONDS = 5.0
_MAX_UNAUTHENTICATED = 64
"""Maximum number of sockets that have not sent their token yet."""
_MAX_BODY = 4096
_BODY_SECONDS = 10.0
_NOT_STORED = {"cache-control": "no-store"}


class Authenticator:
    """Authenticates requests and admits connections."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._unauthenticated = 0

    def identify(self, scope: Scope) -> Identity | None:
        """Return who sends this request, by header or subprotocol.

        Cookies are ignored: a browser sends them to every port of a host, so other servers could read and use them.
        """
        access = self._service.access
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        if scheme:
            return access.by_token(token.strip()) if scheme.lower() == "bearer" else None
        for offered in scope.get("subprotocols", ()):
            if offered.startswith(SUBPROTOCOL):
                return access.by_token(offered.removeprefix(SUBPROTOCOL))
        return None

    async def socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle `/ws`."""
        await receive()
        identity = self.identify(scope)
        if identity is None and FIRST_FRAME in scope.get("subprotocols", ()):
            if self._unauthenticated < _MAX_UNAUTHENTICATED:
                await self._accept_first_frame(scope, receive, send)
            else:
                self._service.counts.refused[503] += 1
                await refuse(scope, send, 503, "Too many clients have not sent a token yet; try again later.")
            return
        if identity is None:
            self._service.counts.refused[401] += 1
            logger("gateway").info("client_refused", status=401)
            await refuse(scope, send, 401, "Send a token: Authorization: Bearer, or subprotocol toolgate.bearer.TOKEN.")
            return
        await self._serve(scope, receive, send, identity, accepted=False)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, identity: Identity, *, accepted: bool) -> None:
        connection = ClientConnection(self._service, identity, receive, send, scope.get("extensions", {}).get(ABORT))
        if not self._service.admit(connection):
            if accepted:
                await send({"type": "websocket.close", "code": 1013, "reason": "too many connections"})
            else:
                self._service.counts.refused[503] += 1
                await refuse(scope, send, 503, "Too many connections; try again later.")
            return
        try:
            if not accepted:
                await send({"type": "websocket.accept", "subprotocol": _accepted_subprotocol(scope)})
            logger("gateway").info("client_connected", user=identity.user, clients=len(self._service.connections))
            await connection.run()
        finally:
            self._service.connections.discard(connection)
            logger("gateway").info("client_left", user=identity.user, clients=len(self._service.connections))

    async def _accept_first_frame(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept a socket whose first frame must be the token."""
        self._unauthenticated += 1
        try:
            await send({"type": "websocket.accept", "subprotocol": FIRST_FRAME})
            identity = await self._first_frame_identity(receive)
        finally:
            self._unauthenticated -= 1
        if identity is None:
            await send(
                {"type": "websocket.send", "text": error(None, "INVALID_PARAMS", "The token is wrong or missing.")}
            )
            await send({"type": "websocket.close", "code": 4401, "reason": "not authorised"})
            return
        await self._serve(scope, receive, send, identity, accepted=True)

    async def _first_frame_identity(self, receive: Receive) -> Identity | None:
        try:
            async with asyncio.timeout(_FIRST_FRAME_SECONDS):
                message = await receive()
        except TimeoutError:
            return None
        frame = _parse(message.get("text") or "")
        if frame.get("type") != "auth" or not isinstance(frame.get("token"), str):
            return None
        return self._service.access.by_token(frame["token"])

    async def exchange(self, request: Request) -> Response:
        """Handle `POST /auth`: a key for a one-time code or a token; a renewed key for the current key."""
        if "origin" not in request.headers or request.headers.get("content-type") != "application/json":
            return _refused(403, "Only the gateway's own page may request this.")
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for piece in request.stream():
                    body += piece
                    if len(body) > _MAX_BODY:
                        return _refused(413, "The request is too long.")
        except TimeoutError:
            return _refused(408, "The request did not arrive in time.")
        identity = self._identity_from(_parse(bytes(body)), request.scope)
        key = None if identity is None else self._service.access.page_key(identity)
        if identity is None or key is None:
            return _refused(401, "That code or token does not work.")
        return JSONResponse({"user": identity.user, "key": key.text, "until": key.until}, headers=_NOT_STORED)

    def _identity_from(self, given: dict[str, Any], scope: Scope) -> Identity | None:
        access = self._service.access
        if isinstance(given.get("code"), str):
            return access.by_code(given["code"])
        if isinstance(given.get("token"), str):
            return access.by_token(given["token"])
        return self.identify(scope)

    async def sign_out(self, request: Request) -> Response:
        """Handle `DELETE /auth`: end the page's sign-in in every gateway with the same database."""
        identity = self.identify(request.scope)
        if identity is None or not identity.sign_in:
            return _refused(401, "Send the page's key.")
        await self._service.sign_out(identity)
        return Response(status_code=204, headers=_NOT_STORED)

    async def link(self, request: Request) -> Response:
        """Handle `POST /auth/link`: return a one-time code for another browser to a client with a token."""
        identity = self.identify(request.scope)
        if identity is None or identity.sign_in:
            return _refused(401, "Send a token: Authorization: Bearer TOKEN.")
        return JSONResponse({"code": self._service.access.code_for(identity.user)}, headers=_NOT_STORED)

    async def whoami(self, request: Request) -> Response:
        """Handle `GET /auth`: return whose token or key it is."""
        identity = self.identify(request.scope)
        if identity is None:
            return _refused(401, "Not signed in.")
        return JSONResponse({"user": identity.user}, headers=_NOT_STORED)


def _refused(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=status, headers=_NOT_STORED)


def _accepted_subprotocol(scope: Scope) -> str | None:
    """Return the subprotocol to confirm. Browsers disconnect if they did not offer it."""
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(SUBPROTOCOL):
            return str(offered)
    return None


def _parse(text: str | bytes) -> dict[str, Any]:
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
