"""Limits on what a server may send: message size, list size, and the rate of messages that were not requested."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES = 8 << 20
"""Maximum bytes of one message."""
MAX_TOOLS = 1000
"""Maximum number of tools per server."""
MAX_PAGES = 100
"""Maximum number of pages in a server's tool list."""
MAX_LIST_CHARACTERS = 8 << 20
"""Maximum characters of all definitions of one server."""
_BURST = 500
_PER_SECOND = 100


class MessageRateLimit:
    """A token bucket for messages that were not requested: a burst, and a rate per second."""

    def __init__(self, burst: int = _BURST, per_second: float = _PER_SECOND) -> None:
        self._burst = float(burst)
        self._per_second = per_second
        self._left = float(burst)
        self._counted_at = 0.0

    async def acquire(self) -> None:
        """Wait until one more message may be read."""
        now = asyncio.get_running_loop().time()
        self._left = min(self._burst, self._left + (now - self._counted_at) * self._per_second)
        self._counted_at = now
        self._left -= 1.0
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_second)


class RateLimitedMessages:
    """The messages of a server, as the SDK's transports deliver them, within a rate limit.

    Responses pass at once. Requests and notifications count. While the limit is exceeded nothing is read, so the
    server waits and no queue grows here.
    """

    def __init__(self, messages: Any, rate_limit: MessageRateLimit) -> None:
        self._messages = messages
        self._rate_limit = rate_limit

    @property
    def last_context(self) -> Any:
        """The SDK's message context."""
        return getattr(self._messages, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        item: SessionMessage | Exception = await self._messages.receive()
        if isinstance(item, Exception) or hasattr(item.message, "method"):
            await self._rate_limit.acquire()
        return item

    async def aclose(self) -> None:
        """Stop reading."""
        await self._messages.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
