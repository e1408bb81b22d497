"""One HTTP/1.1 GET over an address that was checked, with bounds on everything that a server sends."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from toolgate.web.urls import WebAddress

MOST_HEADERS = 1 << 16
_LINE = 1 << 14
_CHUNK = 1 << 16
_CONNECT = 10.0
"""Seconds that one connection may take."""


class BadAnswerError(Exception):
    """The server does not answer as HTTP says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case. Of a header that is sent twice, the last one counts."""
    body: bytes
    cut: bool
    """Whether the body was longer than what was asked for, or ended early."""


async def get(
    address: WebAddress,
    ip: str,
    *,
    headers: Mapping[str, str],
    most: int,
    context: ssl.SSLContext | None = None,
    body: bytes | None = None,
) -> Answer:
    """Send one request to `ip` and read at most `most` bytes of the answer. With `body` it is a POST.

    Raises `OSError`, `ssl.SSLError` or `BadAnswerError`. The caller sets the deadline.
    """
    secure = address.scheme == "https"
    tls = (context or ssl.create_default_context()) if secure else None
    async with asyncio.timeout(_CONNECT):
        reader, writer = await asyncio.open_connection(
            ip, address.port, ssl=tls, server_hostname=address.host if secure else None, limit=_LINE
        )
    try:
        writer.write(_request(address, headers, body))
        await writer.drain()
        status, found = await _head(reader)
        content, cut = await _body(reader, status, found, most)
        return Answer(status=status, headers=found, body=content, cut=cut)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, zlib.error) as error:
        raise BadAnswerError(str(error)) from error
    finally:
        writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await writer.wait_closed()


def _request(address: WebAddress, headers: Mapping[str, str], body: bytes | None) -> bytes:
    host = address.origin.partition("://")[2]
    sent = {"Host": host, "Accept-Encoding": "gzip", "Connection": "close", **headers}
    if body is not None:
        sent["Content-Length"] = str(len(body))
    lines = [f"{'GET' if body is None else 'POST'} {address.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + (body or b"")


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    while True:
        version, _, rest = (await _line(reader)).partition(" ")
        code = rest[:3]
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise BadAnswerError("the first line is no status line of HTTP/1.1")
        headers: dict[str, str] = {}
        size = 0
        while line := await _line(reader):
            size += len(line)
            if size > MOST_HEADERS:
                raise BadAnswerError("the headers are too long")
            name, colon, value = line.partition(":")
            if colon:
                headers[name.strip().lower()] = value.strip()
        if not 100 <= int(code) < 200:
            return int(code), headers


async def _line(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\n")).decode("latin-1").rstrip("\r\n")


async def _body(reader: asyncio.StreamReader, status: int, headers: Mapping[str, str], most: int) -> tuple[bytes, bool]:
    if status in (204, 304) or 300 <= status < 400:
        return b"", False
    coding = headers.get("content-encoding", "identity").lower()
    if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise BadAnswerError(f"the content is encoded as {coding[:40]!r}, which was not asked for")
    unpack = None if coding in ("identity", "") else zlib.decompressobj(47 if "gzip" in coding else 15)
    found = bytearray()
    packed = 0
    async for piece in _pieces(reader, headers):
        packed += len(piece)
        room = most + 1 - len(found)
        found += piece[:room] if unpack is None else unpack.decompress(piece, room)
        if len(found) > most or packed > most:
            return bytes(found[:most]), True
    return bytes(found), unpack is not None and not unpack.eof


async def _pieces(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        while size := int((await _line(reader)).partition(";")[0].strip(), 16):
            if size < 0:
                raise BadAnswerError("a chunk has a negative size")
            while size:
                piece = await reader.read(min(size, _CHUNK))
                if not piece:
                    raise BadAnswerError("the answer ended in the middle of a chunk")
                size -= len(piece)
                yield piece
            await _line(reader)
        return
    left = int(headers["content-length"]) if "content-length" in headers else None
    while left is None or left > 0:
        piece = await reader.read(_CHUNK if left is None else min(left, _CHUNK))
        if not piece:
            if left:
                raise BadAnswerError("the answer ended early")
            return
        left = None if left is None else left - len(piece)
        yield piece
