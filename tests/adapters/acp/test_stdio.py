"""Lines of an editor."""

import asyncio

import pytest

from toolgate.adapters.acp.stdio import MessageReader


async def test_lines_that_are_no_messages_are_passed_over() -> None:
    reader = MessageReader()
    reader.feed_data(b'[]\n\n1\nnull\n "x"\n{"id": 1}\n  {"id": 2}\n3\n')
    reader.feed_eof()

    assert [await reader.readuntil(), await reader.readuntil()] == [b'{"id": 1}\n', b'  {"id": 2}\n']
    with pytest.raises(asyncio.IncompleteReadError):
        await reader.readuntil()


async def test_the_rest_of_a_long_line_is_not_passed_over() -> None:
    reader = MessageReader(limit=8)
    reader.feed_data(b'{"a": "0123456789"}\n[]\n{}\n')
    reader.feed_eof()
    with pytest.raises(asyncio.LimitOverrunError) as caught:
        await reader.readuntil()
    beginning = await reader.readexactly(caught.value.consumed)

    assert beginning + await reader.readuntil() == b'{"a": "0123456789"}\n'
    assert await reader.readuntil() == b"{}\n"
