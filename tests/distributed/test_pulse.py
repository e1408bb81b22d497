"""A worker that is very busy is not taken for a dead one."""

import asyncio

import pytest

from tests.distributed.cluster import OPTIONS, Cluster
from toolgate.distributed import workers
from toolgate.distributed.worker import Worker
from toolgate.sessions import Database

pytestmark = [pytest.mark.distributed, pytest.mark.timeout(120)]


async def test_signs_of_life_do_not_wait_behind_the_turns_for_a_connection(machines: Cluster, own_url: str) -> None:
    crowded = Database(own_url)
    worker = Worker(crowded, own_url, {}, OPTIONS)
    turns = [asyncio.ensure_future(crowded.read(lambda tx: tx.row("SELECT pg_sleep(20)"))) for _ in range(40)]
    while await _sleeping(machines) < 32:  # all that the pool has
        await asyncio.sleep(0.1)
    async with asyncio.timeout(15):
        await worker._beat()
    seen = await machines.db.read(workers.everyone)
    for turn in turns:
        turn.cancel()
    await asyncio.gather(*turns, return_exceptions=True)
    await worker._pulse.close()
    await crowded.close()

    assert [one.id for one in seen] == [worker.id]


async def _sleeping(machines: Cluster) -> int:
    sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    row = await machines.db.read(lambda tx: tx.row(sql))
    assert row is not None
    return int(row[0])
