"""One request over a real connection."""

import asyncio
import gzip
import zlib

import pytest

from tests.web.kit import page, serving
from toolgate.web import connection
from toolgate.web.connection import BadAnswerError, HttpAnswer
from toolgate.web.urls import parse

MAX_BYTES = 1 << 20


async def got(answer: bytes, limit: int = MAX_BYTES, path: str = "/") -> HttpAnswer:
    async with serving({path: answer}) as server:
        address = parse(server.url(path))
        async with asyncio.timeout(60):
            return await connection.get(address, "127.0.0.1", headers={}, max_bytes=limit)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (page("hello"), b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + page("after"), b"after"),
        (page(gzip.compress(b"zipped"), Content_Encoding="gzip"), b"zipped"),
        (page(zlib.compress(b"deflated"), Content_Encoding="deflate"), b"deflated"),
    ],
    ids="length end chunked continue gzip deflate".split(),
)
async def test_bodies_are_read_as_http_says(answer: bytes, body: bytes) -> None:
    found = await got(answer)
    assert (found.status, found.body, found.cut) == (200, body, False)


@pytest.mark.parametrize(
    "answer",
    [
        *(b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/2 200\r\n\r\n"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: aaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 5_000 + b"\r\n",
        page(b"not gzip", Content_Encoding="gzip"),
        page(b"brotli", Content_Encoding="br"),
    ],
    ids="nothing ssh status http2 chunk negative short length long many gzip brotli".split(),
)
async def test_w04_answers_that_are_none_end_in_an_error(answer: bytes) -> None:
    with pytest.raises(BadAnswerError):
        await got(answer)


async def test_w05_a_bomb_of_zeros_is_cut_at_the_limit() -> None:
    bomb = gzip.compress(b"\0" * (200 << 20), 1)
    found = await got(page(bomb, Content_Encoding="gzip"))
    assert (len(found.body), found.cut) == (MAX_BYTES, True)


async def test_w06_an_endless_answer_is_cut_at_the_limit() -> None:
    async def endless(head: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with serving({"/": endless}) as server:
        found = await connection.get(parse(server.url()), "127.0.0.1", headers={}, max_bytes=MAX_BYTES)
    assert (len(found.body), found.cut) == (MAX_BYTES, True)


async def test_the_request_has_no_credentials_and_the_name_of_the_host() -> None:
    async with serving({"/a": page("x")}) as server:
        await connection.get(parse(server.url("/a?b=c")), "127.0.0.1", headers={"User-Agent": "t"}, max_bytes=MAX_BYTES)
        (request,) = server.requests
        assert request.startswith("GET /a?b=c HTTP/1.1\r\n")
        assert f"Host: site.test:{server.port}\r\n" in request
        assert not any(name in request.lower() for name in ("cookie", "authorization", "referer"))
