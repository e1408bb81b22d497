"""Who follows a session hears all of it, though the database was unavailable."""

import asyncio

import pytest

from tests.distributed.cluster import Cluster, until
from tests.distributed.faults import proxied
from toolgate.gateway.durable_feed import DurableFeed
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


async def test_who_follows_a_session_hears_all_of_it_though_the_database_was_unavailable(machines: Cluster) -> None:
    await machines.ready(machines.worker())
    session = await machines.session()
    heard: list[int] = []
    async with proxied(machines.url) as (proxy, way):
        db = Database(way)
        feed = DurableFeed(db, SessionManager(db, SessionSettings()))

        async def follow() -> None:
            async for event in feed.follow(session):
                heard.append(event.seq)

        following = asyncio.create_task(follow())
        await machines.ended((await machines.begin(session, "First.")).id)
        await until(lambda: heard, what="the beginning")
        proxy.cut()
        await machines.ended((await machines.begin(session, "Meanwhile.")).id)
        await asyncio.sleep(1.0)
        proxy.heal()
        events = await machines.events(session)
        await until(lambda: len(heard) >= len(events), what="the rest")
        following.cancel()
        await asyncio.wait({following})
        await db.close()

    assert heard == [event.seq for event in events]
