"""`toolgate mcp --http`: the socket, the token, and the startup message."""

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
import sys
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError

if TYPE_CHECKING:
    import uvicorn

    from toolgate.adapters.mcp_server import Clients
    from toolgate.settings import Settings

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_GRACE = 3
"""Seconds that open requests have to finish."""


def settings_with_token(settings: "Settings") -> "Settings":
    """Add a token to the settings, so that it is masked everywhere."""
    if settings.gateway.token is not None:
        return settings
    from pydantic import SecretStr

    gateway = settings.gateway.model_copy(update={"token": SecretStr(secrets.token_urlsafe(32))})
    return settings.model_copy(update={"gateway": gateway})


async def serve_http(clients: "Clients", settings: "Settings", *, host: str, port: int) -> None:
    """Serve until a signal arrives."""
    import uvicorn

    from toolgate.adapters.mcp_server.http import http_app
    from toolgate.settings import Settings

    is_generated = Settings().gateway.token is None
    if is_generated and host not in _LOOPBACK:
        raise UsageError(f"--host {host} is reachable from elsewhere: set TOOLGATE_GATEWAY_TOKEN to a random value")
    token = settings.gateway.token
    assert token is not None
    with _listening(host, port) as listener:
        actual: int = listener.getsockname()[1]
        app = http_app(
            clients, token=token.get_secret_value(), port=actual, allowed_hosts=settings.gateway.allowed_hosts
        )
        config = uvicorn.Config(
            app, lifespan="on", log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE, ws="none"
        )
        _say(host, actual, token.get_secret_value() if is_generated else None)
        await _serve_until_signalled(uvicorn.Server(config), listener)


async def _serve_until_signalled(server: "uvicorn.Server", listener: socket.socket) -> None:
    """Serve until a signal; then let open requests finish, and log nothing about those that do not."""
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def end(number: int) -> None:
        server.force_exit = bool(received)  # a second signal does not wait
        received.append(number)
        server.should_exit = True

    log = logging.getLogger("uvicorn.error")
    quiet = _ShutdownFilter(server)
    log.addFilter(quiet)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # its own raises again
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    try:
        await server.serve(sockets=[listener])
    finally:
        log.removeFilter(quiet)
    if signal.SIGINT in received:
        raise KeyboardInterrupt


class _ShutdownFilter(logging.Filter):
    """Drops uvicorn's messages about requests that the shutdown cancels."""

    def __init__(self, server: "uvicorn.Server") -> None:
        super().__init__()
        self._server = server

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        return not self._server.should_exit


def _listening(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "ports go up to 65535"
        raise UsageError(f"cannot listen on {host} port {port}: {reason}") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # disable Nagle's algorithm
    return listening


def _say(host: str, port: int, token: str | None) -> None:
    name = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"MCP server: http://{name}:{port}/mcp\n")
    if token is not None:
        sys.stderr.write(f"Token (for Authorization: Bearer …): {token}\n")
    sys.stderr.flush()
