"""ACP over standard input and output."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast

from acp import run_agent

from toolgate.adapters.acp.agent import EditorAgent

if TYPE_CHECKING:
    from acp.interfaces import Agent

_MAX_LINE = 16 << 20
"""Maximum bytes of one message."""


async def serve_stdio(agent: EditorAgent, *, stdin: int = 0, stdout: int = 1) -> None:
    """Serve one editor on two descriptors until it disconnects."""
    reader, writer = await stream_reader(stdin), await stream_writer(stdout)
    try:
        await run_agent(cast("Agent", agent), writer, reader, use_unstable_protocol=True)
    finally:
        writer.close()


class MessageReader(asyncio.StreamReader):
    """Skips lines that are not JSON objects, because the SDK would end at one."""

    _in_message = False
    """Whether the SDK has read the beginning of a line that is longer than the limit."""

    async def readuntil(self, separator: Any = b"\n") -> bytes:
        """Return the next line that may be a message. Raises `IncompleteReadError` at the end."""
        while True:
            try:
                line = await super().readuntil(separator)
            except asyncio.LimitOverrunError:
                self._in_message = True
                raise
            in_message, self._in_message = self._in_message, False
            if in_message or line.lstrip().startswith(b"{"):
                return line


async def stream_reader(fd: int) -> asyncio.StreamReader:
    """Read a pipe."""
    reader = MessageReader(limit=_MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(fd), "rb", 0))
    return reader


async def stream_writer(fd: int) -> asyncio.StreamWriter:
    """Write to a pipe."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(fd), "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
