"""MCP over streamable HTTP. It checks the token, the Host header and the Origin header of every request."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from toolgate.adapters.mcp_server.calls import DISCONNECTED
from toolgate.adapters.mcp_server.clients import IDLE_SECONDS, MAX_CLIENTS, Clients
from toolgate.adapters.mcp_server.duplicate_keys import duplicate_key
from toolgate.adapters.mcp_server.server import build_server

PATH = "/mcp"
MAX_REQUEST_BYTES = 4 << 20
"""Maximum bytes of one request. The arguments of a call are also limited to 1 MiB."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SWEEP = 60.0

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def http_app(clients: Clients, *, token: str, port: int, allowed_hosts: Iterable[str] = ()) -> RequestGuard:
    """Create the ASGI application; `port` is the port that clients write into `Host`."""
    inner = build_server(clients).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_REQUEST_BYTES,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=MAX_CLIENTS,
        # Host and Origin have already been checked, more strictly.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    inner.router.lifespan_context = _with_sweep(clients, inner.router.lifespan_context)
    return RequestGuard(inner, clients, token=token, port=port, allowed_hosts=allowed_hosts)


class RequestGuard:
    """Checks the Host header, the Origin header and the token of every request."""

    def __init__(
        self, app: Starlette, clients: Clients, *, token: str, port: int, allowed_hosts: Iterable[str] = ()
    ) -> None:
        if not token:
            raise ValueError("a token is required: without one everybody on this machine could call tools")
        self._app = app
        self._clients = clients
        self._token = token.encode()
        self._hosts = _allowed_hosts(port, allowed_hosts)
        self._origins = {f"{scheme}://{host}" for host in self._hosts for scheme in ("http", "https")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or pass it on."""
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
        body, received = await _read_body(receive) if scope["method"] == "POST" else (b"", [])
        duplicate = duplicate_key(body) if b'"tools/call"' in body else None
        if duplicate is not None:
            await _refuse(send, 400, f"The key {duplicate[:100]!r} occurs twice.")
            return
        disconnected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._app(
            {**scope, DISCONNECTED: disconnected}, _watch_disconnect(_replay(received, receive), disconnected), send
        )
        if scope["method"] == "DELETE":
            for session in _header(scope, b"mcp-session-id"):
                await self._clients.remove(session)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        hosts, origins = _header(scope, b"host"), _header(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This server does not answer for that host."
        if len(origins) > 1 or (origins and origins[0].lower() not in self._origins):
            return 403, "Requests from other pages are refused."
        authorization = _header(scope, b"authorization")
        scheme, _, token = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        given = token.strip().encode("latin-1")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token):
            return 401, "Send the token: Authorization: Bearer …"
        return None


def _allowed_hosts(port: int, allowed: Iterable[str]) -> frozenset[str]:
    """Return every accepted Host header: the loopback names with the port, and the operator's additions."""
    own = {f"{name}:{port}" for name in _LOOPBACK} | (_LOOPBACK if port == 80 else set())
    for name in map(str.lower, allowed):
        has_port = name.rpartition(":")[2].isdigit() and not name.endswith("]")
        own |= {name} if has_port else {name, f"{name}:{port}"}
    return frozenset(own)


def _header(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted]


async def _read_body(receive: Receive) -> tuple[bytes, list[MutableMapping[str, Any]]]:
    """Read the body up to the limit; return it with the messages that it came in."""
    body, messages = bytearray(), []
    while len(body) <= MAX_REQUEST_BYTES:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return bytes(body), messages


def _replay(messages: list[MutableMapping[str, Any]], receive: Receive) -> Receive:
    async def replaying() -> MutableMapping[str, Any]:
        return messages.pop(0) if messages else await receive()

    return replaying


def _watch_disconnect(receive: Receive, disconnected: asyncio.Future[None]) -> Receive:
    """Wrap `receive` to notice when the client disconnects."""

    async def watching() -> MutableMapping[str, Any]:
        message = await receive()
        if message["type"] == "http.disconnect" and not disconnected.done():
            disconnected.set_result(None)
        return message

    return watching


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="toolgate"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_sweep(clients: Clients, lifespan: Any) -> Any:
    """Wrap the application's lifespan to close idle clients regularly."""

    @contextlib.asynccontextmanager
    async def around(app: Any) -> AsyncIterator[Any]:
        async with lifespan(app) as state:
            sweeper = asyncio.get_running_loop().create_task(_sweep(clients))
            try:
                yield state
            finally:
                sweeper.cancel()

    return around


async def _sweep(clients: Clients) -> None:
    while True:
        await asyncio.sleep(_SWEEP)
        await clients.close_idle()
