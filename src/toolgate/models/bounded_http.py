"""The HTTP client of the SDKs, with a bound on the body of an error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2

LARGEST_ERROR: Final = 64 * 1024
"""Bytes of an error's body that are read: the SDKs read all of it before they look at it."""
LARGEST_ENCODED_ERROR: Final = 4 * 1024
"""The same for a compressed body, which may become a thousand times as long."""

OPTIONS: Final[dict[str, Any]] = {"headers": {"accept-encoding": "identity"}}
"""Answers come uncompressed: a few bytes that become very many would pass every bound on bytes."""


async def cut_errors(response: httpx2.Response) -> None:
    """A hook for responses: of an error no more is read than somebody would read."""
    if response.is_error and isinstance(response.stream, httpx2.AsyncByteStream):
        encoded = response.headers.get("content-encoding", "identity") != "identity"
        response.stream = _Beginning(response.stream, LARGEST_ENCODED_ERROR if encoded else LARGEST_ERROR)


class _Beginning(httpx2.AsyncByteStream):
    """The first bytes of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._stream.aclose()
