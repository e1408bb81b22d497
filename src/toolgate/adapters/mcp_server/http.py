"""MCP over streamable HTTP: only for who shows the token, and only under the names that the server has."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from toolgate.adapters.mcp_server.calls import GONE
from toolgate.adapters.mcp_server.clients import IDLE, MOST, Desk
from toolgate.adapters.mcp_server.lines import doubled_key
from toolgate.adapters.mcp_server.server import build_server

PATH = "/mcp"
LARGEST = 4 << 20
"""Bytes of one request at the most; the arguments of a call are limited to 1 MiB on top of that."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SWEEP = 60.0

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def http_app(desk: Desk, *, token: str, port: int, allowed_hosts: Iterable[str] = ()) -> Door:
    """The ASGI application; `port` is the one that clients write into `Host`."""
    inner = build_server(desk).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LARGEST,
        session_idle_timeout=IDLE,
        max_sessions=MOST,
        # the door has looked at Host and Origin already, and more strictly
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    inner.router.lifespan_context = _swept(desk, inner.router.lifespan_context)
    return Door(inner, desk, token=token, port=port, allowed_hosts=allowed_hosts)


class Door:
    """What every request meets first: Host, Origin and token."""

    def __init__(self, app: Starlette, desk: Desk, *, token: str, port: int, allowed_hosts: Iterable[str] = ()) -> None:
        if not token:
            raise ValueError("a token is needed: without one everybody on this machine could call tools")
        self._app = app
        self._desk = desk
        self._token = token.encode()
        self._hosts = _names(port, allowed_hosts)
        self._origins = {f"{scheme}://{host}" for host in self._hosts for scheme in ("http", "https")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        body, received = await _received(receive) if scope["method"] == "POST" else (b"", [])
        doubled = doubled_key(body) if b'"tools/call"' in body else None
        if doubled is not None:
            await _refuse(send, 400, f"The key {doubled[:100]!r} stands twice.")
            return
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._app({**scope, GONE: gone}, _watched(_replayed(received, receive), gone), send)
        if scope["method"] == "DELETE":
            for session in _header(scope, b"mcp-session-id"):
                await self._desk.leave(session)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        hosts, origins = _header(scope, b"host"), _header(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This server does not answer for that host."
        if len(origins) > 1 or (origins and origins[0].lower() not in self._origins):
            return 403, "Requests from other pages are refused."
        shown = _header(scope, b"authorization")
        scheme, _, token = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
        given = token.strip().encode("latin-1")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token):
            return 401, "Show the token: Authorization: Bearer …"
        return None


def _names(port: int, allowed: Iterable[str]) -> frozenset[str]:
    """Every spelling of Host that is answered: the loopback names at the port, and what the operator adds."""
    own = {f"{name}:{port}" for name in _LOOPBACK} | (_LOOPBACK if port == 80 else set())
    for name in map(str.lower, allowed):
        has_port = name.rpartition(":")[2].isdigit() and not name.endswith("]")
        own |= {name} if has_port else {name, f"{name}:{port}"}
    return frozenset(own)


def _header(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted]


async def _received(receive: Receive) -> tuple[bytes, list[MutableMapping[str, Any]]]:
    """The body, as far as it may be read, and the messages that it came in."""
    body, messages = bytearray(), []
    while len(body) <= LARGEST:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return bytes(body), messages


def _replayed(messages: list[MutableMapping[str, Any]], receive: Receive) -> Receive:
    async def replaying() -> MutableMapping[str, Any]:
        return messages.pop(0) if messages else await receive()

    return replaying


def _watched(receive: Receive, gone: asyncio.Future[None]) -> Receive:
    """`receive`, with an eye on the client's leaving."""

    async def watching() -> MutableMapping[str, Any]:
        message = await receive()
        if message["type"] == "http.disconnect" and not gone.done():
            gone.set_result(None)
        return message

    return watching


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="toolgate"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _swept(desk: Desk, lifespan: Any) -> Any:
    """The application's lifespan, in which unused seats are given up now and then."""

    @contextlib.asynccontextmanager
    async def around(app: Any) -> AsyncIterator[Any]:
        async with lifespan(app) as state:
            sweeper = asyncio.get_running_loop().create_task(_sweep(desk))
            try:
                yield state
            finally:
                sweeper.cancel()

    return around


async def _sweep(desk: Desk) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        await desk.give_up_idle()
