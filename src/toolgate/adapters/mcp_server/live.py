"""What a command prints, told to the client while it runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, get_args

import mcp_types as types

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

GAP = 0.025
"""Seconds between two messages about one call at the least; what is printed meanwhile goes into the next."""
LONGEST = 4000
"""Characters of one message at the most; of more, the end."""

_LEVELS = get_args(types.LoggingLevel)


def wants_log(level: str | None) -> bool:
    """Whether a client that asked for this level wants to hear what commands print."""
    return level in _LEVELS and _LEVELS.index(level) <= _LEVELS.index("info")


class LiveOutput:
    """Passes on what a call prints: as progress to who gave a token for it, as log messages to who set a level.

    It never holds the command up: what the client is too slow for is left out, the end is kept.
    """

    def __init__(self, ctx: ServerRequestContext[Any, Any], tool_name: str) -> None:
        self.ctx = ctx
        """The request that the call belongs to now."""
        self.log = False
        """Whether the client wants log messages."""
        self._name = tool_name
        self._text = ""
        self._left_out = 0
        self._progress = 0
        self._pump: asyncio.Task[None] | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether anybody listens."""
        return self.log or "progress_token" in (self.ctx.meta or {})

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Take what was printed."""
        self._progress += len(text)
        self._text += text
        if len(self._text) > LONGEST:
            self._left_out += len(self._text) - LONGEST
            self._text = self._text[-LONGEST:]
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        """Tell the rest."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
            await self._tell()

    async def _run(self) -> None:
        while self._text:
            await self._tell()
            await asyncio.sleep(GAP)
        self._pump = None

    async def _tell(self) -> None:
        text, self._text = self._text, ""
        left_out, self._left_out = self._left_out, 0
        if not text:
            return
        if left_out:
            text = f"⟨{left_out} characters left out⟩{text}"
        await self.ctx.session.report_progress(self._progress, message=text)
        if self.log:
            params = types.LoggingMessageNotificationParams(level="info", logger=self._name, data=text)
            notification = types.LoggingMessageNotification(params=params)
            await self.ctx.session.send_notification(notification, self.ctx.request_id)
