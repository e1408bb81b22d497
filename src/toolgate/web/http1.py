"""Reads answers of HTTP/1.1, with bounds on everything that a server sends before the body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

MAX_HEADERS = 1 << 16
_CHUNK = 1 << 16


class BadAnswerError(Exception):
    """The server does not answer as HTTP says."""


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Read the status and the headers, by names in lower case. Of a header that is sent twice, the last one counts.

    Raises `BadAnswerError`, and what `StreamReader.readuntil` raises. The caller sets the deadline.
    """
    while True:
        version, _, rest = (await _line(reader)).partition(" ")
        code = rest[:3]
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise BadAnswerError("the first line is not a status line of HTTP/1.1")
        headers: dict[str, str] = {}
        size = 0
        while line := await _line(reader):
            size += len(line)
            if size > MAX_HEADERS:
                raise BadAnswerError("the headers are too long")
            name, colon, value = line.partition(":")
            if colon:
                headers[name.strip().lower()] = value.strip()
        if not 100 <= int(code) < 200:
            return int(code), headers


async def _line(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\n")).decode("latin-1").rstrip("\r\n")


async def read_pieces(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives. The trailers after the last chunk are left unread."""
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
