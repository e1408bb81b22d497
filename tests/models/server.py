"""A model server on loopback whose answers a test writes: any path, any status, any kind of body."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from tests.support.servers import listening

Answer = tuple[int, str, bytes]


def as_json(value: Any, status: int = 200) -> Answer:
    return status, "application/json", json.dumps(value).encode()


def models(*names: str, **more: Any) -> Answer:
    return as_json({"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]})


def html(status: int = 200) -> Answer:
    return status, "text/html", b"<!DOCTYPE html><html><body>Welcome to nginx!</body></html>"


def said(*pieces: str, usage: tuple[int, int] = (100, 10)) -> Answer:
    """A streamed answer in OpenAI's protocol."""
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return 200, "text/event-stream", text.encode()


class ModelServer:
    """Answers by path. A list of answers is used up one by one; the last one stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        """Path, headers and body of every request."""
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = head.split("\r\n")
        path = lines[0].split()[1].partition("?")[0]
        headers = {key.lower(): value for key, value in (line.split(": ", 1) for line in lines[1:] if ": " in line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append((path, headers, json.loads(body) if body else None))
        known = self.answers.get(path, [as_json({"error": {"message": "no such path"}}, 404)])
        status, kind, content = known.pop(0) if len(known) > 1 else known[0]
        if status == 0:  # hang until the client leaves
            await reader.read()
        elif status > 0:
            top = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n"
            writer.write(f"{top}connection: close\r\n\r\n".encode() + content)
            await writer.drain()


HANG: Answer = (0, "", b"")
CLOSE: Answer = (-1, "", b"")


@contextlib.asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    made = ModelServer()
    async with listening(made.serve) as made.port:
        yield made


@contextlib.contextmanager
def threaded_model_server() -> Iterator[ModelServer]:
    """The same in a thread of its own, for programs in other processes."""
    ready, made = threading.Event(), list[tuple[ModelServer, asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        async with model_server() as started:
            stop = asyncio.Event()
            made.append((started, asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    server, loop, stop = made[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
