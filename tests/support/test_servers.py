"""The server on loopback that other tests use."""

import asyncio

from tests.support.servers import listening

LARGE = b"x" * 60_000_000
"""More than a socket takes at once."""


async def test_a_connection_that_was_closed_with_data_left_and_is_read_to_its_end_is_no_error() -> None:
    async def handle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(LARGE)
        assert writer.transport.get_write_buffer_size()

    async with listening(handle) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        received = len(await reader.read())
        writer.close()
        await writer.wait_closed()
    assert received == len(LARGE)
