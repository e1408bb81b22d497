"""Requests that a server sends to the client are declined, and a flood of them ends."""

import asyncio
import json

from tests.adapters.mcp_client.kit import connected, nasty
from toolgate import ErrorCode


async def test_a_flood_of_requests_from_a_server_that_does_not_listen_ends_with_the_block() -> None:
    async with connected(raw=nasty("deaf-flood", timeout=2)) as live:
        result = await live.call("raw__act")
        waiting = len(asyncio.all_tasks())

    assert waiting < 1500  # a burst, and a hundred a second; not the thousands that it sends
    assert result.response.error is not None
    assert result.response.error.code is ErrorCode.TIMEOUT


async def test_wishes_of_a_server_are_declined() -> None:
    """Sampling, elicitation and roots are not offered: nobody is asked for a password in a stranger's name."""
    async with connected(raw=nasty("asks")) as live:
        result = await live.call("raw__act")

    answers = json.loads(result.response.data["content"][0]["text"])
    assert [("error" in answer, "result" in answer) for answer in answers] == [(True, False)] * 3
