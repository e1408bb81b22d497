"""uvicorn's protocols, with an end for those who begin a request and never finish it, or never read an answer."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from toolgate.gateway.guard import ABORT

HANDSHAKE_SECONDS = 10.0
"""Time to send the head of a request."""
MOST_SILENT = 256
"""Connections at a time that have not sent one; the oldest gives way."""


class PatientProtocol(H11Protocol):
    """HTTP for those who say what they want in time."""

    silent: dict[asyncio.BaseTransport, None] = {}
    """Connections that have not sent the head of a request, the oldest first."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.silent[transport] = None
        if len(self.silent) > MOST_SILENT:
            oldest = next(iter(self.silent))
            del self.silent[oldest]
            _answer(oldest, "503 Service Unavailable", "Too many connections; try again later.")
        self._patience = self.loop.call_later(HANDSHAKE_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._heard()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read what has come; once the head of a request is whole, there is nothing to wait for."""
        super().handle_events()
        upgraded = self.transport.get_protocol() is not cast("object", self)
        if upgraded or cast("object", self.cycle) is not None:
            self._heard()

    def _heard(self) -> None:
        self._patience.cancel()
        self.silent.pop(self.transport, None)

    def _give_up(self) -> None:
        self.silent.pop(self.transport, None)
        _answer(self.transport, "408 Request Timeout", "The request did not arrive in time.")


class SocketProtocol(WebSocketsSansIOProtocol):
    """WebSockets that can be hung up."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; what is written to the log never has a client's headers in it, at whatever level."""
        super().connection_made(transport)
        self.conn.debug = False

    def handle_connect(self, event: Any) -> None:
        """Tell the application how. Headers that are no text are refused here: the library cannot say so."""
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
        """Send; a refusal that is whole is an end like any other, not a fault of the application."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True


def _answer(transport: asyncio.BaseTransport, status: str, reason: str) -> None:
    """Answer somebody who has sent no request, and hang up; who does not read is not waited for."""
    if not isinstance(transport, asyncio.Transport):
        return
    body = f"{reason}\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\nConnection: close\r\n"
    transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    if transport.get_write_buffer_size():
        transport.abort()
    else:
        transport.close()
