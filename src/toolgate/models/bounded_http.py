"""Limits how much of an error response the SDKs' HTTP client reads: they read the whole body before they look at it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2

from toolgate.models.connection import MAX_ENCODED_ERROR_BYTES, MAX_ERROR_BYTES

OPTIONS: Final[dict[str, Any]] = {"headers": {"accept-encoding": "identity"}}
"""Asks for uncompressed responses: a compressed one could expand past every limit."""


async def limit_error_body(response: httpx2.Response) -> None:
    """Response hook that limits the body of an error response."""
    if response.is_error and isinstance(response.stream, httpx2.AsyncByteStream):
        encoded = response.headers.get("content-encoding", "identity") != "identity"
        response.stream = _LimitedStream(response.stream, MAX_ENCODED_ERROR_BYTES if encoded else MAX_ERROR_BYTES)


class _LimitedStream(httpx2.AsyncByteStream):
    """The first bytes of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        async for piece in self._stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        """Release the connection."""
        await self._stream.aclose()
