"""One HTTP/1.1 GET over an address that was checked, with bounds on everything that a server sends."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from toolgate.web.http1 import BadAnswerError, read_head, read_pieces
from toolgate.web.urls import WebAddress

__all__ = ["BadAnswerError", "HttpAnswer", "get"]

_LINE = 1 << 14
_CONNECT = 10.0
"""Seconds that one connection may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
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
    max_bytes: int,
    context: ssl.SSLContext | None = None,
    body: bytes | None = None,
) -> HttpAnswer:
    """Send one request to `ip` and read at most `max_bytes` bytes of the answer. With `body` it is a POST.

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
        status, found = await read_head(reader)
        content, cut = await _body(reader, status, found, max_bytes)
        return HttpAnswer(status=status, headers=found, body=content, cut=cut)
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


async def _body(
    reader: asyncio.StreamReader, status: int, headers: Mapping[str, str], max_bytes: int
) -> tuple[bytes, bool]:
    if status in (204, 304) or 300 <= status < 400:
        return b"", False
    coding = headers.get("content-encoding", "identity").lower()
    if coding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise BadAnswerError(f"the content is encoded as {coding[:40]!r}, which was not asked for")
    unpack = None if coding in ("identity", "") else zlib.decompressobj(47 if "gzip" in coding else 15)
    found = bytearray()
    packed = 0
    async for piece in read_pieces(reader, headers):
        packed += len(piece)
        room = max_bytes + 1 - len(found)
        found += piece[:room] if unpack is None else unpack.decompress(piece, room)
        if len(found) > max_bytes or packed > max_bytes:
            return bytes(found[:max_bytes]), True
    return bytes(found), unpack is not None and not unpack.eof
