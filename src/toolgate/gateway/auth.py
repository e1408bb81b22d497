"""The door: who is it, and is there room; for the page, a code or a token in exchange for a key of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolgate.gateway.access import FIRST_FRAME, SUBPROTOCOL, Identity
from toolgate.gateway.connection import Connection
from toolgate.gateway.guard import ABORT, Receive, Scope, Send, refuse
from toolgate.gateway.projection import error
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.gateway.service import Service

_FIRST_FRAME_SECONDS = 5.0
_MOST_UNKNOWN = 64
"""Clients at a time that have not shown their token yet."""
_LARGEST_BODY = 4096
_BODY_SECONDS = 10.0
_NOT_STORED = {"cache-control": "no-store"}


class Entry:
    """Lets clients in."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._unknown = 0

    def identify(self, scope: Scope) -> Identity | None:
        """Who sends this request, by header or subprotocol.

        Cookies do not count: a browser sends them to every port of a host, so others can read and show them.
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
        """`/ws`."""
        await receive()
        identity = self.identify(scope)
        if identity is None and FIRST_FRAME in scope.get("subprotocols", ()):
            if self._unknown < _MOST_UNKNOWN:
                await self._unannounced(scope, receive, send)
            else:
                self._service.counts.refused[503] += 1
                await refuse(scope, send, 503, "Too many clients have not shown a token yet; try again later.")
            return
        if identity is None:
            self._service.counts.refused[401] += 1
            logger("gateway").info("client_refused", status=401)
            await refuse(scope, send, 401, "Show a token: Authorization: Bearer, or subprotocol toolgate.bearer.TOKEN.")
            return
        await self._welcome(scope, receive, send, identity, accepted=False)

    async def _welcome(self, scope: Scope, receive: Receive, send: Send, identity: Identity, *, accepted: bool) -> None:
        connection = Connection(self._service, identity, receive, send, scope.get("extensions", {}).get(ABORT))
        if not self._service.admit(connection):
            if accepted:
                await send({"type": "websocket.close", "code": 1013, "reason": "too many connections"})
            else:
                self._service.counts.refused[503] += 1
                await refuse(scope, send, 503, "Too many connections; try again later.")
            return
        try:
            if not accepted:
                await send({"type": "websocket.accept", "subprotocol": _offered(scope)})
            logger("gateway").info("client_connected", user=identity.user, clients=len(self._service.connections))
            await connection.run()
        finally:
            self._service.connections.discard(connection)
            logger("gateway").info("client_left", user=identity.user, clients=len(self._service.connections))

    async def _unannounced(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let someone in who will say who it is at once, and nothing else before."""
        self._unknown += 1
        try:
            await send({"type": "websocket.accept", "subprotocol": FIRST_FRAME})
            identity = await self._announced(receive)
        finally:
            self._unknown -= 1
        if identity is None:
            await send(
                {"type": "websocket.send", "text": error(None, "INVALID_PARAMS", "The token is wrong or missing.")}
            )
            await send({"type": "websocket.close", "code": 4401, "reason": "not authorised"})
            return
        await self._welcome(scope, receive, send, identity, accepted=True)

    async def _announced(self, receive: Receive) -> Identity | None:
        try:
            async with asyncio.timeout(_FIRST_FRAME_SECONDS):
                message = await receive()
        except TimeoutError:
            return None
        frame = _parsed(message.get("text") or "")
        if frame.get("type") != "auth" or not isinstance(frame.get("token"), str):
            return None
        return self._service.access.by_token(frame["token"])

    async def exchange(self, request: Request) -> Response:
        """`POST /auth`: a key for the page, for a one-time code or a token; a later one for the key that is shown."""
        if "origin" not in request.headers or request.headers.get("content-type") != "application/json":
            return _refused(403, "Only the gateway's own page may ask for this.")
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for piece in request.stream():
                    body += piece
                    if len(body) > _LARGEST_BODY:
                        return _refused(413, "Too long.")
        except TimeoutError:
            return _refused(408, "Too slow.")
        identity = self._given(_parsed(bytes(body)), request.scope)
        key = None if identity is None else self._service.access.page_key(identity)
        if identity is None or key is None:
            return _refused(401, "That code or token does not work.")
        return JSONResponse({"user": identity.user, "key": key.text, "until": key.until}, headers=_NOT_STORED)

    def _given(self, given: dict[str, Any], scope: Scope) -> Identity | None:
        access = self._service.access
        if isinstance(given.get("code"), str):
            return access.by_code(given["code"])
        if isinstance(given.get("token"), str):
            return access.by_token(given["token"])
        return self.identify(scope)

    async def leave(self, request: Request) -> Response:
        """`DELETE /auth`: end the page's sign-in, here and in every gateway of the same database."""
        identity = self.identify(request.scope)
        if identity is None or not identity.sign_in:
            return _refused(401, "Show the page's key.")
        await self._service.sign_out(identity)
        return Response(status_code=204, headers=_NOT_STORED)

    async def whoami(self, request: Request) -> Response:
        """`GET /auth`: who the token or the page's key belongs to."""
        identity = self.identify(request.scope)
        if identity is None:
            return _refused(401, "Not signed in.")
        return JSONResponse({"user": identity.user}, headers=_NOT_STORED)


def _refused(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=status, headers=_NOT_STORED)


def _offered(scope: Scope) -> str | None:
    """The subprotocol to confirm: browsers hang up unless it is one that they offered."""
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(SUBPROTOCOL):
            return str(offered)
    return None


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
