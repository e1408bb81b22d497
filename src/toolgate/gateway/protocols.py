"""uvicorn's protocols, with timeouts for clients that never finish a request or never read a response."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from toolgate.extras import optional_imports
from toolgate.gateway.guard import ABORT

with optional_imports():
    from uvicorn.protocols.http.h11_impl import H11Protocol
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

HANDSHAKE_SECONDS = 10.0
"""Maximum seconds to send the head of a request."""
MAX_SILENT = 256
"""Maximum number of connections without a request; the oldest is closed first."""


class DeadlineProtocol(H11Protocol):
    """HTTP with a deadline for the head of a request."""

    silent: dict[asyncio.BaseTransport, None] = {}
    """Connections without a request so far, oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline."""
        super().connection_made(transport)
        self.silent[transport] = None
        if len(self.silent) > MAX_SILENT:
            oldest = next(iter(self.silent))
            del self.silent[oldest]
            _answer(oldest, "503 Service Unavailable", "Too many connections; try again later.")
        self._deadline = self.loop.call_later(HANDSHAKE_SECONDS, self._time_out)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._request_received()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read input. Once the head of a request is complete, the deadline ends."""
        super().handle_events()
        upgraded = self.transport.get_protocol() is not cast("object", self)
        if upgraded or cast("object", self.cycle) is not None:
            self._request_received()

    def _request_received(self) -> None:
        self._deadline.cancel()
        self.silent.pop(self.transport, None)

    def _time_out(self) -> None:
        self.silent.pop(self.transport, None)
        _answer(self.transport, "408 Request Timeout", "The request did not arrive in time.")


class SocketProtocol(WebSocketsSansIOProtocol):
    """WebSockets that can be closed without a closing handshake."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the connection, without debug logs, which would contain the client's headers."""
        super().connection_made(transport)
        self.conn.debug = False

    def handle_connect(self, event: Any) -> None:
        """Add the abort extension. Refuse headers that are not text, because the library cannot."""
        try:
            super().handle_connect(event)
        except UnicodeError:
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.transport.close()
            return
        if hasattr(self, "scope"):
            extensions: dict[str, Any] = cast("dict[str, Any]", self.scope["extensions"])
            extensions[ABORT] = self.transport.abort

    async def send(self, message: Any) -> None:
        """Send a message. A complete refusal is a normal end, not an error of the application."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True


def _answer(transport: asyncio.BaseTransport, status: str, reason: str) -> None:
    """Answer a client that has sent no request, and close without waiting for it to read."""
    if not isinstance(transport, asyncio.Transport):
        return
    body = f"{reason}\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\nConnection: close\r\n"
    transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    if transport.get_write_buffer_size():
        transport.abort()
    else:
        transport.close()
