"""The stdio transport: starts the server as a program, with one JSON message per line."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolgate.adapters.line_buffer import LineBuffer, LineTooLong
from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.limits import MAX_MESSAGE_BYTES, MessageRateLimit, RateLimitedMessages
from toolgate.extras import optional_imports
from toolgate.log import logger
from toolgate.sandbox.program import UserProgram, program_environment
from toolgate.text.visible import visible

with optional_imports():
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

if TYPE_CHECKING:
    from types import TracebackType

TOO_LARGE = -32_010
"""The error code of a response that was too large to read."""
_CHUNK = 65_536
_TERMINATE_SECONDS = 2.0
_WRITE_TIMEOUT = 30.0
_EXIT_SECONDS = 1.0
_EXCERPT = 200
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"]{1,64}")')


class StdioTransport:
    """Starts the server, and later stops it with its child processes. An instance is used once."""

    def __init__(self, config: ServerConfig, environ: Mapping[str, str]) -> None:
        self._config = config
        self._environ = environ
        self._lines = LineBuffer(MAX_MESSAGE_BYTES)
        self._rate_limit = MessageRateLimit()
        self._open_requests: set[str] = set()
        """Ids of requests without a response so far."""
        self._program: UserProgram | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._problem = ""
        self._closed = False
        self._invalid_lines = 0
        self.lost = asyncio.Event()
        """Set when nothing more will arrive."""

    async def __aenter__(self) -> Any:
        config = self._config
        given = {name: value.get_secret_value() for name, value in config.env.items()}
        self._program = await UserProgram.start(
            [config.command, *config.args],
            environment=program_environment(self._environ, given),
            directory=config.cwd or self._environ.get("HOME") or os.sep,
        )
        self._inbound, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, self._outbound = anyio.create_memory_object_stream[SessionMessage](0)
        self._ends = (self._inbound, messages, answers, self._outbound)
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        return RateLimitedMessages(messages, self._rate_limit), answers

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._problem, self._closed = self.problem, True  # from now on the program ends because it was told to
        for end in self._ends:
            end.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        assert self._program is not None
        await self._program.stop(_TERMINATE_SECONDS)

    @property
    def problem(self) -> str:
        """Why the connection ended, as far as the program shows; empty while it runs."""
        code = self._program.exit_code if self._program is not None and not self._closed else None
        return self._problem if code is None else f"its program ended with exit code {code}"

    @property
    def invalid_lines(self) -> str:
        """A note about lines that are not messages, for the report of a failed start."""
        return (
            f"it has printed {self._invalid_lines} lines that are not JSON-RPC messages" if self._invalid_lines else ""
        )

    async def _read(self) -> None:
        """Pass the server's messages on until its output ends."""
        assert self._program is not None
        try:
            while chunk := await self._program.stdout.read(_CHUNK):
                for line in self._lines.feed(chunk):
                    await self._take(line)
            self._problem = self._problem or "its program closed its output"
            await self._program.ends_within(_EXIT_SECONDS)  # a program that exits closes its output first
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            self._problem = self._problem or "the connection was closed"
        finally:
            self.lost.set()
            self._inbound.close()

    @property
    def server_message(self) -> str:
        """The end of the program's standard error, for the operator."""
        return self._program.complaints[-_EXCERPT * 5 :].strip() if self._program is not None else ""

    async def _take(self, line: bytes | LineTooLong) -> None:
        if isinstance(line, LineTooLong):
            await self._refuse(line)
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await self._ignore(line)
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if str(message.id) not in self._open_requests:
                await self._rate_limit.acquire()
                return
            self._open_requests.discard(str(message.id))
        await self._inbound.send(SessionMessage(message))

    async def _ignore(self, line: bytes) -> None:
        self._invalid_lines += 1
        if self._invalid_lines == 1:
            text = visible(line[:_EXCERPT].decode("utf-8", "replace"), keep="")
            logger("mcp").warning("mcp_server_prints_noise", server=self._config.name, line=text)
        await self._rate_limit.acquire()

    async def _refuse(self, line: LineTooLong) -> None:
        """Answer the call that the line belongs to with an error; every open call if it is unknown which."""
        logger("mcp").warning("mcp_message_too_large", server=self._config.name, bytes=line.size)
        ids = {found.strip(b'"').decode("ascii", "replace") for found in _ID.findall(line.start + b"\n" + line.end)}
        affected = (ids & self._open_requests) or set(self._open_requests)
        for identifier in affected:
            self._open_requests.discard(identifier)
            error = ErrorData(code=TOO_LARGE, message=f"the response has {line.size} bytes")
            key = int(identifier) if identifier.isdigit() else identifier
            await self._inbound.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=key, error=error)))
        if not affected:
            await self._rate_limit.acquire()

    async def _write(self) -> None:
        """Pass messages to the server; give up on a server that does not read for half a minute."""
        assert self._program is not None
        stdin = self._program.stdin
        try:
            async for item in self._outbound:
                message = item.message
                if isinstance(message, JSONRPCRequest):
                    self._open_requests.add(str(message.id))
                elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                    self._open_requests.discard(str((message.params or {}).get("requestId")))
                stdin.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                async with asyncio.timeout(_WRITE_TIMEOUT):
                    await stdin.drain()
        except TimeoutError:
            self._problem = f"it has not read its input for {_WRITE_TIMEOUT:g} s"
        except (ConnectionError, RuntimeError):
            self._problem = "it closed its input"
        finally:
            self._outbound.close()
            self._inbound.close()
