"""A follower sees what was and what comes."""

import asyncio
import contextlib

from toolgate.sessions import (
    SessionManager,
)


async def test_a_follower_sees_what_was_and_what_comes(store: SessionManager) -> None:
    session = await store.create()
    other = await store.create()
    await store.append_message(session.id, "user", "1")
    seen = []

    async def write() -> None:
        await store.append_message(other.id, "user", "not for you")
        await store.append_message(session.id, "user", "2")

    async with asyncio.timeout(10), contextlib.aclosing(store.follow(session.id)) as events:
        async for event in events:
            seen.append(event.payload["content"])
            if len(seen) == 1:
                writing = asyncio.create_task(write())
            if len(seen) == 2:
                break
    await writing

    assert seen == ["1", "2"]
