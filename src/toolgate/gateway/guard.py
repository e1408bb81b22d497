"""Checks every request first: Host, Origin, and no token in the URL. It also adds the security headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from toolgate.gateway.access import Access
    from toolgate.settings import GatewaySettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ABORT = "toolgate.abort"
"""The scope extension that closes a socket without a closing handshake."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SECRET_NAMES = ("token", "auth", "bearer", "key", "code", "secret", "password")
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types toolgate"
)
_HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": _CSP,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }.items()
)


class Guard:
    """Admits only requests for one of the gateway's host names, from its own page or from no page at all."""

    def __init__(self, app: App, *, access: Access, settings: GatewaySettings) -> None:
        self._app = app
        self._access = access
        self._port = settings.port
        self._allowed = frozenset(name.lower() for name in settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope) or _not_started(scope)
        if refusal is not None:
            await refuse(scope, send, *refusal)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        hosts, origins = _header(scope, b"host"), _header(scope, b"origin")
        secure = scope["scheme"] in ("https", "wss")
        served = (scope.get("server") or (None, None))[1]
        ports = {self._port, served or self._port}
        if len(hosts) != 1 or not self._is_own_host(hosts[0], ports, secure):
            return 421, "This gateway does not answer for that host."
        if len(origins) > 1 or (origins and not self._is_own_page(origins[0], ports, secure)):
            return 403, "Requests from other pages are refused."
        if scope["query_string"] and self._has_token_in_query(scope):
            scope["query_string"] = b""  # servers log the query
            status = 400 if scope["type"] == "http" or _has_token_header(scope) else 401
            return status, "A token in a URL ends up in logs: send it in a header."
        return None

    def _has_token_in_query(self, scope: Scope) -> bool:
        """Whether a query contains a token or a parameter named like one. A socket must have no query at all."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return (
            scope["type"] == "websocket"
            or any(word in name.lower() for name, _ in pairs for word in _SECRET_NAMES)
            or any(self._access.by_token(text) is not None for pair in pairs for text in pair)
        )

    def _is_own_host(self, host: str, ports: set[int], secure: bool) -> bool:
        host = host.lower()
        default = 443 if secure else 80
        if host in self._allowed:
            return True
        name, written = _split(host)
        if written in ports or (written is None and default in ports):
            return name in _LOOPBACK or name in self._allowed
        return False

    def _is_own_page(self, origin: str, ports: set[int], secure: bool) -> bool:
        scheme, colon, host = origin.lower().partition("://")
        if not colon or scheme not in ("http", "https"):
            return False
        if host in self._allowed:
            return True
        return (scheme == "https") is secure and self._is_own_host(host, ports, secure)


def _not_started(scope: Scope) -> tuple[int, str] | None:
    """Why nothing can be answered if the application that this one is mounted in has not started it."""
    if hasattr(scope["app"].state, "authenticator") or _route(scope).startswith("/health/"):
        return None
    return 503, "The gateway has not been started: mount it with toolgate.gateway.mount, or run its lifespan."


def _route(scope: Scope) -> str:
    """The path below the prefix that the gateway is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _has_token_header(scope: Scope) -> bool:
    """Whether a header may contain a token. If not, the socket must send it in its first frame."""
    return bool(_header(scope, b"authorization") or _header(scope, b"sec-websocket-protocol"))


def _split(host: str) -> tuple[str, int | None]:
    """Split name and port. An invalid port gives a name that never matches."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, None
    return (name, int(port)) if port.isascii() and port.isdecimal() and len(port) < 6 else (host, None)


def _header(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == wanted]


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message.get("headers", ())}
            added = [(name, value) for name, value in _HEADERS if name not in given]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


async def refuse(scope: Scope, send: Send, status: int, reason: str) -> None:
    """Respond with a status; for a socket, instead of accepting it."""
    kind = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
            return
        kind = "websocket.http.response"
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if kind == "http.response":
        headers += _HEADERS
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
