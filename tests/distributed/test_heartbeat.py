"""A worker that is very busy is not taken for a dead one, and one that is told twice to end ends at once."""

import asyncio
import signal

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, until
from toolgate.distributed import workers
from toolgate.distributed.worker import Worker
from toolgate.sessions import Database

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(120)]


async def test_signs_of_life_do_not_wait_behind_the_turns_for_a_connection(
    machines: Cluster, own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.sessions.postgres.PATIENCE", 600.0)
    crowded = Database(own_url)
    worker = Worker(crowded, own_url, {}, OPTIONS)
    turns = [asyncio.ensure_future(crowded.read(lambda tx: tx.row("SELECT pg_sleep(600)"))) for _ in range(40)]
    while await _sleeping(machines) < 32:  # all that the pool has
        await asyncio.sleep(0.1)
    await worker._heartbeat.beat()
    assert await _sleeping(machines) == 32
    seen = await machines.db.read(workers.all_workers)
    for turn in turns:
        turn.cancel()
    await asyncio.gather(*turns, return_exceptions=True)
    await worker._heartbeat.close()
    await crowded.close()

    assert [one.id for one in seen] == [worker.id]


async def _sleeping(machines: Cluster) -> int:
    sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    row = await machines.db.read(lambda tx: tx.row(sql))
    assert row is not None
    return int(row[0])


async def test_a_worker_that_is_told_twice_hands_its_turns_over_at_once(machines: Cluster) -> None:
    worker = machines.worker(TOOLGATE_DISTRIBUTED_DRAIN_SECONDS="600")
    await machines.ready(worker)
    turn = await machines.begin(await machines.session(), [["look", {"key": "long", "seconds": 500}]], "Later.")
    await until(lambda: machines.effects("looks"), what="the look", logs=machines.logs)
    worker.signal(signal.SIGTERM)
    await until(lambda: "Shutting down: 1 turns" in worker.output, what="the first word", logs=machines.logs)
    worker.signal(signal.SIGTERM)
    await until(lambda: worker.popen.poll() is not None, what="its end", logs=machines.logs)
    row = await machines.db.read(lambda tx: tx.row("SELECT state FROM dispatches WHERE turn_id = ?1", turn.id))

    assert (worker.popen.returncode, row) == (0, ("queued",))
