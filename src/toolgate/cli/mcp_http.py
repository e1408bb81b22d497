"""`toolgate mcp --http`: the socket, the token and the words at the start."""

import secrets
import socket
import sys
from typing import TYPE_CHECKING

from toolgate.cli.guard import UsageError

if TYPE_CHECKING:
    from toolgate.adapters.mcp_server import Desk
    from toolgate.settings import Settings

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_GRACE = 3
"""Seconds that open requests get to end."""


def settings_with_token(settings: "Settings") -> "Settings":
    """Settings that have a token, so that it is masked wherever it could appear."""
    if settings.gateway.token is not None:
        return settings
    from pydantic import SecretStr

    gateway = settings.gateway.model_copy(update={"token": SecretStr(secrets.token_urlsafe(32))})
    return settings.model_copy(update={"gateway": gateway})


async def serve_http(desk: "Desk", settings: "Settings", *, host: str, port: int) -> None:
    """Serve until told to stop."""
    import uvicorn

    from toolgate.adapters.mcp_server.http import http_app
    from toolgate.settings import Settings

    made_up = Settings().gateway.token is None
    if made_up and host not in _LOOPBACK:
        raise UsageError(f"--host {host} is reachable from elsewhere: set TOOLGATE_GATEWAY_TOKEN to a long random word")
    token = settings.gateway.token
    assert token is not None
    with _listening(host, port) as listener:
        actual: int = listener.getsockname()[1]
        app = http_app(desk, token=token.get_secret_value(), port=actual, allowed_hosts=settings.gateway.allowed_hosts)
        config = uvicorn.Config(
            app, lifespan="on", log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE, ws="none"
        )
        _say(host, actual, token.get_secret_value() if made_up else None)
        await uvicorn.Server(config).serve(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "ports go up to 65535"
        raise UsageError(f"cannot listen on {host} port {port}: {reason}") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or an answer waits for the one before to arrive
    return listening


def _say(host: str, port: int, token: str | None) -> None:
    name = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"MCP server: http://{name}:{port}/mcp\n")
    if token is not None:
        sys.stderr.write(f"Token (for Authorization: Bearer …): {token}\n")
    sys.stderr.flush()
