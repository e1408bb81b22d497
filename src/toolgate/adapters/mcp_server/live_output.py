"""Sends the output of a running command to the client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, get_args

import mcp_types as types

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

MIN_INTERVAL = 0.025
"""Minimum seconds between two messages about one call; output in between goes into the next message."""
MAX_MESSAGE = 4000
"""Maximum characters of one message; of longer output, the end is sent."""

_LEVELS = get_args(types.LoggingLevel)


def wants_log(level: str | None) -> bool:
    """Whether a client with this log level receives the output of commands."""
    return level in _LEVELS and _LEVELS.index(level) <= _LEVELS.index("info")


class LiveOutput:
    """Sends a call's output: as progress if the request has a progress token, as log messages if a level is set.

    It never blocks the command. If the client is too slow, the start of the output is left out.
    """

    def __init__(self, ctx: ServerRequestContext[Any, Any], tool_name: str) -> None:
        self.ctx = ctx
        """The request that the call currently belongs to."""
        self.log = False
        """Whether the client wants log messages."""
        self._name = tool_name
        self._text = ""
        self._left_out = 0
        self._progress = 0
        self._sender: asyncio.Task[None] | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the client receives output at all."""
        return self.log or "progress_token" in (self.ctx.meta or {})

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Take a piece of output."""
        self._progress += len(text)
        self._text += text
        if len(self._text) > MAX_MESSAGE:
            self._left_out += len(self._text) - MAX_MESSAGE
            self._text = self._text[-MAX_MESSAGE:]
        if self._sender is None:
            self._sender = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        """Send the rest."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait([self._sender])
            await self._send()

    async def _run(self) -> None:
        while self._text:
            await self._send()
            await asyncio.sleep(MIN_INTERVAL)
        self._sender = None

    async def _send(self) -> None:
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
