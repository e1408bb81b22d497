"""`HttpClient` over real sockets: connections are kept, bounded and never trusted with a key that is not theirs."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.support.servers import listening
from toolgate.models.connection import ConnectionFailed, ServerRefused
from toolgate.models.http_client import HttpClient, _redirected, is_plain

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6; x=y\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n"


class Server:
    """Answers every request with the next answer; the last one stays."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.hang_up = False
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines[1:] if line)
            self.requests.append((lines[0], headers, await reader.readexactly(int(headers["content-length"]))))
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
            if self.hang_up:
                break


@contextlib.asynccontextmanager
async def serving(*answers: bytes) -> AsyncIterator[Server]:
    made = Server(*answers)
    async with listening(made.serve) as made.port:
        yield made


@pytest.fixture
async def client() -> AsyncIterator[Callable[..., HttpClient]]:
    made: list[HttpClient] = []

    def make(address: str, **headers: str) -> HttpClient:
        made.append(HttpClient(address, headers, timeout=60))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def posted(client: HttpClient, **body: Any) -> bytes:
    async with client.post("/x", body) as (_, pieces):
        return b"".join([piece async for piece in pieces])


async def test_a_body_in_chunks_and_the_request_as_it_is_sent(client: Callable[..., HttpClient]) -> None:
    async with serving(CHUNKED) as server:
        assert await posted(client(f"{server.url}/v1/", authorization="Bearer k"), text="ü") == b"hello world"
    (request, headers, body) = server.requests[0]
    assert request == "POST /v1/x HTTP/1.1"
    assert headers == {"host": f"127.0.0.1:{server.port}", "content-length": "13", "authorization": "Bearer k"}
    assert body == '{"text":"ü"}'.encode()


async def test_the_next_request_uses_the_same_connection(client: Callable[..., HttpClient]) -> None:
    async with serving(CHUNKED, OK + b"content-length: 2\r\n\r\nhi") as server:
        used = client(server.url)
        assert [await posted(used) for _ in range(3)] == [b"hello world", b"hi", b"hi"]
    assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own(client: Callable[..., HttpClient]) -> None:
    async with serving(CHUNKED) as server:
        used = client(server.url)
        assert await asyncio.gather(*(posted(used) for _ in range(5))) == [b"hello world"] * 5
        assert server.connections == 5
        await asyncio.gather(*(posted(used) for _ in range(5)))
        assert server.connections == 5


async def test_a_connection_that_the_server_closed_is_not_used(client: Callable[..., HttpClient]) -> None:
    async with serving(CHUNKED) as server:
        server.hang_up = True
        used = client(server.url)
        await posted(used)
        async with asyncio.timeout(60):
            while not used._idle[0].reader.at_eof():
                await asyncio.sleep(0.01)
        assert await posted(used) == b"hello world"
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [OK + b"content-length: 2\r\nconnection: close\r\n\r\nhi", OK + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n"],
    ids=["close", "unfinished"],
)
async def test_a_connection_that_cannot_be_used_again_is_closed(
    client: Callable[..., HttpClient], answer: bytes
) -> None:
    async with serving(answer) as server:
        used = client(server.url)
        for _ in range(2):
            async with used.post("/x", {}) as (_, pieces):
                assert await anext(pieces) == b"hi"
    assert (server.connections, used._idle) == (2, [])


async def test_a_kept_connection_with_an_answer_that_was_left_unread_is_closed(
    client: Callable[..., HttpClient],
) -> None:
    async with serving(CHUNKED, OK + b"content-length: 4\r\n\r\nhi", CHUNKED) as server:
        used = client(server.url)
        await posted(used)
        async with used.post("/x", {}) as (_, pieces):
            assert await anext(pieces) == b"hi"
        assert await posted(used) == b"hello world"
    assert server.connections == 2


async def test_what_a_server_sends_unasked_is_no_answer_to_the_next_request(client: Callable[..., HttpClient]) -> None:
    unasked = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"
    async with serving(OK + b"content-length: 2\r\n\r\nhi" + unasked, CHUNKED) as server:
        used = client(server.url)
        assert [await posted(used), await posted(used)] == [b"hi", b"hello world"]
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        OK + b"x: " + b"a" * 100_000 + b"\r\n\r\n",
        OK + b"x: a\r\n" * 20_000 + b"\r\n",
    ],
    ids=["ssh", "chunk", "long", "many"],
)
async def test_what_is_not_http_is_a_failed_connection(client: Callable[..., HttpClient], answer: bytes) -> None:
    async with serving(answer) as server:
        with pytest.raises(ConnectionFailed):
            await posted(client(server.url))


async def test_an_answer_that_ends_early_is_a_failed_connection(client: Callable[..., HttpClient]) -> None:
    async with serving(OK + b"content-length: 100\r\n\r\nhi") as server:
        server.hang_up = True
        with pytest.raises(ConnectionFailed):
            await posted(client(server.url))


async def test_silence_is_a_failed_connection_that_timed_out() -> None:
    async with serving(OK + b"content-length: 100\r\n\r\nhi") as server:
        used = HttpClient(server.url, {}, timeout=0.1)
        with pytest.raises(ConnectionFailed) as caught:
            await posted(used)
        await used.close()
    assert caught.value.timed_out


async def test_a_refusal_says_what_the_server_said(client: Callable[..., HttpClient]) -> None:
    body = b'{"error": {"message": "too fast"}}'
    answer = b"HTTP/1.1 429 X\r\nretry-after: 7\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    async with serving(answer) as server:
        with pytest.raises(ServerRefused) as caught:
            await posted(client(server.url))
    error = caught.value
    assert (error.status, error.message, error.headers["retry-after"], error.body.encode()) == (
        429,
        "too fast",
        "7",
        body,
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_key_does_not_follow_a_redirect_to_another_server(
    client: Callable[..., HttpClient], host: str
) -> None:
    async with serving(CHUNKED) as target:
        location = f"HTTP/1.1 307 X\r\nlocation: http://{host}:{target.port}/y\r\ncontent-length: 0\r\n\r\n"
        async with serving(location.encode()) as first:
            used = client(first.url, **{"authorization": "Bearer k", "x-api-key": "k", "x": "1"})
            assert await posted(used) == b"hello world"
    request, headers, _ = target.requests[0]
    assert request == "POST /y HTTP/1.1"
    assert headers.keys() - {"host", "content-length"} == {"x"}


async def test_the_key_follows_a_redirect_of_the_server_to_itself(client: Callable[..., HttpClient]) -> None:
    async with serving(b"HTTP/1.1 307 X\r\nlocation: /y\r\ncontent-length: 0\r\n\r\n", CHUNKED) as server:
        assert await posted(client(server.url, authorization="Bearer k")) == b"hello world"
    assert [(request, headers["authorization"]) for request, headers, _ in server.requests] == [
        ("POST /x HTTP/1.1", "Bearer k"),
        ("POST /y HTTP/1.1", "Bearer k"),
    ]


@pytest.mark.parametrize(
    ("url", "target", "kept"),
    [
        ("http://host/v1", "https://host/v1", True),
        ("http://host:8000/v1", "https://host/v1", False),
        ("https://host/v1", "http://host/v1", False),
        ("https://host/v1", "https://host:443/v2", True),
        ("https://host/v1", "https://host:8443/v1", False),
    ],
)
def test_which_redirects_keep_the_key(url: str, target: str, kept: bool) -> None:
    assert _redirected(url, target, {"authorization": "Bearer k"}) == (
        target,
        {"authorization": "Bearer k"} if kept else {},
    )


async def test_a_redirect_in_a_circle_ends(client: Callable[..., HttpClient]) -> None:
    async with serving(b"HTTP/1.1 308 X\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n") as server:
        with pytest.raises(ServerRefused, match="redirects"):
            await posted(client(server.url))


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("http://localhost:11434/v1", True),
        ("https://api.openai.com/v1", True),
        ("https://user:secret@host/v1", False),
        ("https://host/v1?version=1", False),
        ("https://host/v1\r\nx: y", False),
        ("https://héllo/v1", False),
        ("http://[::1]/v1", False),
        ("ftp://host/v1", False),
        ("http://host:port/v1", False),
        ("", False),
    ],
)
def test_which_addresses_are_plain(address: str, plain: bool) -> None:
    assert is_plain(address) is plain


def test_a_python_that_looks_for_certificates_in_the_wrong_place_still_verifies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda: empty)
    client = HttpClient("https://localhost", {}, timeout=1)
    client.warm()
    made = client._context

    assert made is not None
    assert made is not empty
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize(
    ("host", "raced"), [("127.0.0.1", False), ("[::1]", False), ("localhost", True), ("1.a", True)]
)
async def test_only_the_addresses_of_a_name_are_tried_side_by_side(
    host: str, raced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    async def refuse(*_: object, **options: Any) -> None:
        asked.append(options)
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio, "open_connection", refuse)

    with pytest.raises(ConnectionFailed):
        await HttpClient(f"http://{host}:1", {}, timeout=60).get("/", 10)

    assert ["happy_eyeballs_delay" in options for options in asked] == [raced]
