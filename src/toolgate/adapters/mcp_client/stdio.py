"""The stdio transport: a server that is a program of the user's, one JSON message a line."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.limits import LARGEST_MESSAGE, Budget, Slowed
from toolgate.adapters.mcp_client.lines import Lines, TooLong
from toolgate.log import logger
from toolgate.sandbox.program import Program, program_environment
from toolgate.text.visible import visible

if TYPE_CHECKING:
    from types import TracebackType

TOO_LARGE = -32_010
"""The code of the error that stands for an answer that was too large to take in."""
_CHUNK = 65_536
_GRACE = 2.0
_STALLED = 30.0
_MOMENT = 1.0
_EXCERPT = 200


class StdioTransport:
    """Starts the server, and ends it with everything that it has started. Used once."""

    def __init__(self, config: ServerConfig, environ: Mapping[str, str]) -> None:
        self._config = config
        self._environ = environ
        self._lines = Lines(LARGEST_MESSAGE)
        self._budget = Budget()
        self._asked: set[str] = set()
        """The ids of requests that are not answered yet."""
        self._program: Program | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = ""
        self._closed = False
        self._noise = 0
        self.lost = asyncio.Event()
        """Set when nothing more will come."""

    async def __aenter__(self) -> Any:
        config = self._config
        given = {name: value.get_secret_value() for name, value in config.env.items()}
        self._program = await Program.start(
            [config.command, *config.args],
            environment=program_environment(self._environ, given),
            directory=config.cwd or self._environ.get("HOME") or os.sep,
        )
        self._inbound, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, self._outbound = anyio.create_memory_object_stream[SessionMessage](0)
        self._ends = (self._inbound, messages, answers, self._outbound)
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        return Slowed(messages, self._budget), answers

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trouble, self._closed = self.trouble, True  # from now on it ends because it is told to
        for end in self._ends:
            end.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        assert self._program is not None
        await self._program.stop(_GRACE)

    @property
    def trouble(self) -> str:
        """Why the connection ended, as far as the program tells; empty while it lives."""
        code = self._program.exit_code if self._program is not None and not self._closed else None
        return self._trouble if code is None else f"its program ended with exit code {code}"

    @property
    def noise(self) -> str:
        """A word on lines that were no messages, for somebody who waits for one in vain."""
        return f"it has printed {self._noise} lines that are no JSON-RPC message" if self._noise else ""

    async def _read(self) -> None:
        """Pass on what the server says, until it says no more."""
        assert self._program is not None
        try:
            while chunk := await self._program.stdout.read(_CHUNK):
                for line in self._lines.feed(chunk):
                    await self._take(line)
            self._trouble = self._trouble or "its program closed its output"
            await self._program.ends_within(_MOMENT)  # a program that ends closes its output first
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            self._trouble = self._trouble or "the connection was closed"
        finally:
            self.lost.set()
            self._inbound.close()

    @property
    def complaints(self) -> str:
        """The end of the program's standard error, for the operator."""
        return self._program.complaints[-_EXCERPT * 5 :].strip() if self._program is not None else ""

    async def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            await self._refuse(line)
            return
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await self._ignore(line)
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if str(message.id) not in self._asked:
                await self._budget.spend()
                return
            self._asked.discard(str(message.id))
        await self._inbound.send(SessionMessage(message))

    async def _ignore(self, line: bytes) -> None:
        self._noise += 1
        if self._noise == 1:
            text = visible(line[:_EXCERPT].decode("utf-8", "replace"), keep="")
            logger("mcp").warning("mcp_server_prints_noise", server=self._config.name, line=text)
        await self._budget.spend()

    async def _refuse(self, line: TooLong) -> None:
        """Answer in the server's place: the call that the line belongs to, or, where that is unknown, every call."""
        logger("mcp").warning("mcp_message_too_large", server=self._config.name, bytes=line.size)
        meant = (line.ids & self._asked) or set(self._asked)
        for identifier in meant:
            self._asked.discard(identifier)
            error = ErrorData(code=TOO_LARGE, message=f"the answer has {line.size} bytes")
            key = int(identifier) if identifier.isdigit() else identifier
            await self._inbound.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=key, error=error)))
        if not meant:
            await self._budget.spend()

    async def _write(self) -> None:
        """Pass on what the server is told; one that does not read for half a minute is given up."""
        assert self._program is not None
        stdin = self._program.stdin
        try:
            async for item in self._outbound:
                message = item.message
                if isinstance(message, JSONRPCRequest):
                    self._asked.add(str(message.id))
                elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                    self._asked.discard(str((message.params or {}).get("requestId")))
                stdin.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                async with asyncio.timeout(_STALLED):
                    await stdin.drain()
        except TimeoutError:
            self._trouble = f"it has not read its input for {_STALLED:g} s"
        except (ConnectionError, RuntimeError):
            self._trouble = "it closed its input"
        finally:
            self._outbound.close()
            self._inbound.close()
