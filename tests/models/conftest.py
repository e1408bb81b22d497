"""A provider on loopback: it answers with what a test tells it, over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from tests.support.servers import listening


class Provider:
    """Plays one answer per request and keeps the requests."""

    def __init__(self) -> None:
        self.answers: list[Iterable[bytes | float]] = []
        """The parts of each answer. An empty one is a pause of ten milliseconds."""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hung_up = asyncio.Event()
        self.url = ""

    def streams(self, *events: dict[str, Any] | str | float) -> None:
        """The next answer: server-sent events; a number is a pause in seconds, a string goes out as it is."""
        parts: list[bytes | float] = [
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        ]
        parts += [event if isinstance(event, float) else _event(event) for event in events]
        self.answers.append(parts)

    def fails(self, status: int, message: str = "no", **headers: str) -> None:
        """The next answer: an error."""
        body = json.dumps({"type": "error", "error": {"type": "x", "message": message}}).encode()
        lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.answers.append(["\r\n".join([*lines, "connection: close", "", ""]).encode() + body])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            headers = {name.lower(): value for name, value in headers.items()}
            self.headers.append(headers)
            self.requests.append(json.loads(await reader.readexactly(int(headers["content-length"]))))
            for part in self.answers.pop(0):
                if isinstance(part, float):
                    await asyncio.wait_for(reader.read(1), part)
                    self.hung_up.set()
                    break
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.01 if not part else 0)  # or the client in the same loop would never run
        except (TimeoutError, ConnectionError):
            self.hung_up.set()


def _event(event: dict[str, Any] | str) -> bytes:
    if isinstance(event, str):
        return event.encode("utf-8", "surrogateescape")
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    made = Provider()
    async with listening(made.serve) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made
