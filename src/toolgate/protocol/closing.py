"""`AsyncClosing`: base of objects that are closed with `aclose` or with `async with`."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class AsyncClosing(ABC):
    """Something that is open until `aclose`. `async with` closes it at the end of the block."""

    __slots__ = ()

    @abstractmethod
    async def aclose(self) -> None:
        """Close it. Closing twice is harmless."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
