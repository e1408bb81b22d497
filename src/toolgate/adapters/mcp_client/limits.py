"""How much of a server's talk is taken in: what it was not asked for is taken slowly, and nothing is endless."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.shared.message import SessionMessage

LARGEST_MESSAGE = 8 << 20
"""Bytes that one message of a server may have."""
MOST_TOOLS = 1000
"""Tools that one server may list."""
MOST_PAGES = 100
"""Pages that its list may have."""
LARGEST_LIST = 8 << 20
"""Characters that all of its definitions together may have."""
_BURST = 500
_A_SECOND = 100


class Budget:
    """A server may say so much unasked at once, and so much a second; beyond that it has to wait."""

    def __init__(self, burst: int = _BURST, a_second: float = _A_SECOND) -> None:
        self._burst = float(burst)
        self._a_second = a_second
        self._left = float(burst)
        self._counted_at = 0.0

    async def spend(self) -> None:
        """Take one message in, when its time has come."""
        now = asyncio.get_running_loop().time()
        self._left = min(self._burst, self._left + (now - self._counted_at) * self._a_second)
        self._counted_at = now
        self._left -= 1.0
        if self._left < 0:
            await asyncio.sleep(-self._left / self._a_second)


class Slowed:
    """The messages of a server, as the SDK's transports hand them over, within a budget.

    Answers pass at once. What was not asked for (requests, notifications) costs budget: while it is used up nothing is
    read, so the server waits and no queue grows here.
    """

    def __init__(self, messages: Any, budget: Budget) -> None:
        self._messages = messages
        self._budget = budget

    @property
    def last_context(self) -> Any:
        """Passed on for the SDK."""
        return getattr(self._messages, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        item: SessionMessage | Exception = await self._messages.receive()
        if isinstance(item, Exception) or hasattr(item.message, "method"):
            await self._budget.spend()
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
