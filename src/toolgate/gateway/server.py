"""Running the gateway: a socket, uvicorn on it, and the address that opens the page."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolgate.gateway.app import create_app

if TYPE_CHECKING:
    from toolgate.settings import Settings


def serve(settings: Settings, *, say: Callable[[str], None], browser: bool = False) -> int:
    """Serve until a signal says to end; the exit code."""
    import uvicorn

    listening = socket.create_server((settings.gateway.host, settings.gateway.port), backlog=1024)
    host, port = listening.getsockname()[:2]
    gateway = settings.gateway.model_copy(update={"port": port})
    app = create_app(settings.model_copy(update={"gateway": gateway}))
    users = settings.gateway.tokens_by_user() or {"": ""}
    for user in users:
        say(f"Toolgate{f' for {user}' if user else ''}: http://{host}:{port}/#{app.state.access.code_for(user)}")
    say("The address works once, for an hour. Ctrl-C ends the gateway.")
    if browser:
        import webbrowser

        webbrowser.open(f"http://{host}:{port}/#{app.state.access.code_for(next(iter(users)))}")
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=settings.gateway.max_frame_bytes,
        ws_per_message_deflate=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0
