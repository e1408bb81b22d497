"""MCP over stdin and stdout, without threads: what the client sends is read when it is there.

At the end of stdin, after SIGTERM or when nobody reads the answers any more, what runs is taken back and ended first.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import stat
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from toolgate.adapters.mcp_server.desk import Desk
from toolgate.adapters.mcp_server.lines import Lines, LineTooLong, parsed, refusal
from toolgate.adapters.mcp_server.server import build_server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

GRACE = 1.0
"""Seconds that calls get to end after the client has closed our stdin but still reads: `printf … | toolgate mcp`."""
_CHUNK = 1 << 16


async def serve_stdio(desk: Desk, *, stdin: int = 0, stdout: int = 1) -> None:
    """Serve one client on two descriptors until it goes away."""
    server = build_server(desk)
    wire = _Wire(stdin, stdout)
    async with wire.streams() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


@contextlib.contextmanager
def claimed_stdio() -> Iterator[tuple[int, int]]:
    """Descriptors of the wire that nothing else knows: for everybody else stdin is empty and stdout is stderr."""
    stdin, stdout = os.dup(0), os.dup(1)
    empty, writer = os.pipe()
    os.close(writer)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    try:
        yield stdin, stdout
    finally:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.close(stdin)
        os.close(stdout)


class _Wire:
    """Two descriptors as the streams that the SDK works with."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._in = stdin
        self._out = stdout
        self._open: set[Any] = set()
        """Requests of the client that are not answered yet."""
        self._settled = asyncio.Event()

    @contextlib.asynccontextmanager
    async def streams(
        self,
    ) -> AsyncIterator[
        tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
    ]:
        """What the client sends, and what it is sent."""
        send_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, receive_out = anyio.create_memory_object_stream[SessionMessage](0)
        waits = stat.S_ISFIFO(mode := os.fstat(self._out).st_mode) or stat.S_ISSOCK(mode)
        if waits:
            os.set_blocking(self._out, False)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, send_in, outgoing.clone())
                group.start_soon(self._write, receive_out, group.cancel_scope)
                yield incoming, outgoing
                group.cancel_scope.cancel()
        finally:
            if waits:
                os.set_blocking(self._out, True)

    async def _read(
        self, sink: MemoryObjectSendStream[SessionMessage | Exception], answers: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        lines = Lines()
        async with sink, answers:
            try:
                while data := await _readable(self._in):
                    await self._pass_on(lines.feed(data), sink, answers)
                await self._pass_on(lines.end(), sink, answers)
                await self._let_finish()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the other side has ended

    async def _pass_on(
        self,
        lines: list[bytes | LineTooLong],
        sink: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        for line in lines:
            message = None if isinstance(line, LineTooLong) else parsed(line)
            if message is None:
                await answers.send(SessionMessage(refusal(line)))
                continue
            if isinstance(message, types.JSONRPCRequest):
                self._open.add(message.id)
            elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                self._answered((message.params or {}).get("requestId"))
            await sink.send(SessionMessage(message))

    async def _write(self, source: MemoryObjectReceiveStream[SessionMessage], scope: anyio.CancelScope) -> None:
        async with source:
            async for item in source:
                message = item.message
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await _written(self._out, f"{text}\n".encode())
                except OSError:
                    scope.cancel()  # nobody reads any more
                    return
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    self._answered(message.id)

    def _answered(self, request_id: Any) -> None:
        with contextlib.suppress(TypeError):
            self._open.discard(request_id)
        self._settled.set()

    async def _let_finish(self) -> None:
        """No more requests come; those that are open may end, if somebody still reads."""
        with anyio.move_on_after(GRACE):
            while self._open and not _is_broken(self._out):
                self._settled.clear()
                with anyio.move_on_after(0.05):
                    await self._settled.wait()


async def _readable(fd: int) -> bytes:
    """What is there, as soon as something is; empty at the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(fd, ready.set)
    except PermissionError:  # a file: there is nothing to wait for
        return os.read(fd, _CHUNK)
    try:
        await ready.wait()
        return os.read(fd, _CHUNK)
    except OSError:
        return b""
    finally:
        loop.remove_reader(fd)


async def _written(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            loop = asyncio.get_running_loop()
            ready = asyncio.Event()
            loop.add_writer(fd, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_writer(fd)


def _is_broken(fd: int) -> bool:
    """Whether the reader of a pipe or socket has gone away."""
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
