"""The door: who is it, and is there room; for the page, a code or a token in exchange for a cookie."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolgate.gateway.access import COOKIE_SECONDS, FIRST_FRAME, SUBPROTOCOL, Identity
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


class Entry:
    """Lets clients in."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._unknown = 0

    def identify(self, scope: Scope) -> Identity | None:
        """Who sends this request, by header, subprotocol or cookie."""
        access = self._service.access
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        if scheme:
            return access.by_token(token.strip()) if scheme.lower() == "bearer" else None
        for offered in scope.get("subprotocols", ()):
            if offered.startswith(SUBPROTOCOL):
                return access.by_token(offered.removeprefix(SUBPROTOCOL))
        cookie = _cookie(headers.get(b"cookie", ""), cookie_name(scope))
        return None if cookie is None else access.by_cookie(cookie)

    async def socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`/ws`."""
        await receive()
        identity = self.identify(scope)
        if identity is None and FIRST_FRAME in scope.get("subprotocols", ()) and self._unknown < _MOST_UNKNOWN:
            await self._unannounced(scope, receive, send)
            return
        if identity is None:
            self._service.counts.refused[401] += 1
            logger("gateway").info("client_refused", status=401)
            await refuse(scope, send, 401, "Show a token: Authorization: Bearer, or subprotocol toolgate.bearer.TOKEN.")
            return
        if identity.by_cookie and not any(name.lower() == b"origin" for name, _ in scope["headers"]):
            await refuse(scope, send, 403, "A cookie counts only with an Origin.")
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
        """`POST /auth`: a one-time code or a token for the page's cookie."""
        if "origin" not in request.headers or request.headers.get("content-type") != "application/json":
            return JSONResponse({"error": "Only the gateway's own page may ask for this."}, status_code=403)
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for piece in request.stream():
                    body += piece
                    if len(body) > _LARGEST_BODY:
                        return JSONResponse({"error": "Too long."}, status_code=413)
        except TimeoutError:
            return JSONResponse({"error": "Too slow."}, status_code=408)
        given = _parsed(bytes(body))
        access, identity = self._service.access, None
        if isinstance(given.get("code"), str):
            identity = access.by_code(given["code"])
        elif isinstance(given.get("token"), str):
            identity = access.by_token(given["token"])
        if identity is None:
            return JSONResponse({"error": "That code or token does not work."}, status_code=401)
        answer = JSONResponse({"user": identity.user}, headers={"cache-control": "no-store"})
        answer.set_cookie(
            cookie_name(request.scope),
            access.cookie_for(identity),
            max_age=COOKIE_SECONDS,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def leave(self, request: Request) -> Response:
        """`DELETE /auth`: forget the cookie."""
        answer = Response(status_code=204)
        answer.delete_cookie(cookie_name(request.scope), path="/", httponly=True, samesite="strict")
        return answer

    async def whoami(self, request: Request) -> Response:
        """`GET /auth`: who the cookie or token belongs to."""
        identity = self.identify(request.scope)
        if identity is None:
            return JSONResponse({"error": "Not signed in."}, status_code=401, headers={"cache-control": "no-store"})
        return JSONResponse({"user": identity.user}, headers={"cache-control": "no-store"})


def cookie_name(scope: Scope) -> str:
    """Cookies do not know ports, so that the name has to: several gateways may run on one machine."""
    return f"toolgate_{(scope.get('server') or ('', 0))[1]}"


def _cookie(header: str, name: str) -> str | None:
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return None


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
