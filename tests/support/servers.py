"""A server on loopback, in the test's own loop, that leaves no connection behind."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable


@contextlib.asynccontextmanager
async def listening(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """`handle` answers every connection to the port that this yields; what still runs at the end is cancelled."""
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await handle(reader, writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(answer(reader, writer))
        task.add_done_callback(lambda _: writer.close())
        connections[task] = writer

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in connections:
            task.cancel()
        ends = await asyncio.gather(*connections, return_exceptions=True)
        for writer in connections.values():
            if tls is not None or not writer.is_closing() or writer.transport.get_write_buffer_size():
                writer.transport.abort()  # a plain one that was closed with data left and is over raises
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
        failed = [end for end in ends if isinstance(end, Exception)]
        if failed:
            raise ExceptionGroup("a connection was not answered", failed)
