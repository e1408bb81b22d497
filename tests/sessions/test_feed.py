"""A follower sees what was and what comes."""

import asyncio
import contextlib
import threading
from pathlib import Path

from toolgate.sessions import Database, SessionManager
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import publish


async def test_a_follower_sees_what_was_and_what_comes(store: SessionManager) -> None:
    session = await store.create()
    other = await store.create()
    await store.append_message(session.id, "user", "1")
    seen = []

    async def write() -> None:
        await store.append_message(other.id, "user", "not for you")
        await store.append_message(session.id, "user", "2")

    async with asyncio.timeout(60), contextlib.aclosing(store.follow(session.id)) as events:
        async for event in events:
            seen.append(event.payload["content"])
            if len(seen) == 1:
                writing = asyncio.create_task(write())
            if len(seen) == 2:
                break
    await writing

    assert seen == ["1", "2"]


async def test_a_follower_that_comes_during_a_write_gets_its_events_without_reading_the_log(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/a.db")
    await db.migrate()
    row: Row = ("s", 1, None, "message", 1, "{}", 0, 0.0)
    begun, followed = threading.Event(), threading.Event()

    def unit(transaction: Transaction) -> None:
        begun.set()
        followed.wait()
        publish(transaction, row)
        transaction.touched("s", 1)

    async def write() -> None:
        await db.write(unit)

    writing = asyncio.create_task(write())
    await asyncio.to_thread(begun.wait)
    with db.feed.follow("s") as news:
        first = news.take(0)
        followed.set()
        await writing
        await news.wait()
        then = news.take(0)
    await db.close()

    assert (first, then) == (None, [row])
