"""A WebSocket client that only counts: as little as possible between the server and the clock."""

import asyncio
import base64
import os
from collections.abc import Callable


class Counter(asyncio.Protocol):
    """One connection. `on_frame` is called for every frame that came, without its content unless `keep` is set."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_frame: Callable[[bytes], None] = lambda _: None
        self._buffer = bytearray()
        self._open = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._open:
            head, blank, rest = bytes(self._buffer).partition(b"\r\n\r\n")
            if not blank:
                return
            assert b" 101 " in head.split(b"\r\n")[0], head
            self._buffer, self._open = bytearray(rest), True
            self.ready.set_result(None)
        self._frames()

    def _frames(self) -> None:
        buffer, at, size = self._buffer, 0, len(self._buffer)
        while size - at >= 2:
            length, start = buffer[at + 1], at + 2
            if length == 126:
                if size - at < 4:
                    break
                length, start = int.from_bytes(buffer[at + 2 : at + 4], "big"), at + 4
            elif length == 127:
                if size - at < 10:
                    break
                length, start = int.from_bytes(buffer[at + 2 : at + 10], "big"), at + 10
            if size < start + length:
                break
            if buffer[at] & 0x0F == 1:
                self.on_frame(bytes(buffer[start : start + length]))
            at = start + length
        del buffer[:at]

    def send(self, payload: bytes) -> None:
        """Send a text frame; the mask is zero, which is legal and costs nothing."""
        size = len(payload)
        head = bytes([0x81, 0x80 | size]) if size < 126 else bytes([0x81, 0xFE]) + size.to_bytes(2, "big")
        self.transport.write(head + b"\0\0\0\0" + payload)


async def open_socket(port: int, path: str = "/ws", **headers: str) -> Counter:
    """A connection that is open."""
    _, client = await asyncio.get_running_loop().create_connection(Counter, "127.0.0.1", port)
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    client.transport.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    await client.ready
    return client
