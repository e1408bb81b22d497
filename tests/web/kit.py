"""Real servers on the loopback interface, and fetchers that may reach them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.servers import listening
from toolgate.web.fetch import Fetcher

Handler = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """A server that answers with bytes, or as a function likes."""

    answers: dict[str, bytes | Handler]
    requests: list[str] = field(default_factory=list)
    """Every request as it came."""
    port: int = 0

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
        body = (await reader.readexactly(length)).decode() if length else ""
        self.requests.append(head + body)
        answer = self.answers[head.split(" ")[1].partition("?")[0]]
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
        else:
            await answer(head, writer)


@asynccontextmanager
async def serving(answers: dict[str, bytes | Handler]) -> AsyncIterator[Server]:
    made = Server(answers)
    async with listening(made.handle) as made.port:
        yield made


def page(body: str | bytes, kind: str = "text/html", status: str = "200 OK", **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode() + content


def moved(location: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()


async def to_loopback(host: str, port: int) -> list[str]:
    """Every name is this machine."""
    return ["127.0.0.1"]


def fetcher(**options: object) -> Fetcher:
    """May reach this machine, which no setting can make a fetcher do."""
    return Fetcher(**{"resolve": to_loopback, "allows": lambda ip: ip == "127.0.0.1", **options})  # type: ignore[arg-type]
