"""Lines on descriptors: whole, in order, and bounded."""

import asyncio
import os

import pytest

from tests.adapters.mcp_server.kit import until
from toolgate.adapters.mcp_server.descriptors import LineReader, LineWriter


async def test_lines_come_in_order_and_none_after_the_last() -> None:
    read, write = os.pipe()
    os.write(write, b"one\n\ntwo\nthree")
    os.close(write)
    with LineReader(read) as reader:
        assert [await reader.next() for _ in range(4)] == [b"one", b"two", b"three", None]
        assert reader.has_ended
    os.close(read)


async def test_a_line_that_is_put_back_comes_next() -> None:
    read, write = os.pipe()
    os.write(write, b"one\ntwo\n")
    with LineReader(read) as reader:
        first = await reader.next()
        assert first is not None
        reader.put_back(first)
        assert [await reader.next(), await reader.next()] == [b"one", b"two"]
    os.close(read)
    os.close(write)


async def test_a_slow_client_gets_every_line_whole() -> None:
    read, write = os.pipe()
    line = "x" * 100_000
    with LineWriter(write) as writer:
        for _ in range(4):
            writer.put(line)
        received = bytearray()
        while len(received) < 4 * len(line) + 4:
            received += await asyncio.to_thread(os.read, read, 1 << 16)
        await until(lambda: writer.is_empty)
    assert received.decode() == f"{line}\n" * 4
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("waits", [False, True])
async def test_a_client_that_is_gone_is_noticed(waits: bool) -> None:
    read, write = os.pipe()
    told: list[bool] = []
    with LineWriter(write) as writer:
        writer.on_broken = lambda: told.append(True)
        assert writer.has_reader()
        os.close(read)
        assert not writer.has_reader()
        writer.put("lost" * (100_000 if waits else 1))
        await writer.drained()
        assert (writer.is_broken, told) == (True, [True])
    os.close(write)
