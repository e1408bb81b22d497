"""Time that a person took to answer is not counted as waiting for a worker."""

import time

import pytest

from tests.distributed.cluster import Cluster
from toolgate.distributed import dispatches
from toolgate.distributed.status import read_status
from toolgate.sessions.driver import Transaction


@pytest.mark.postgres
async def test_what_a_person_took_is_no_waiting_for_a_worker(machines: Cluster) -> None:
    now = time.time()

    def prepare(transaction: Transaction) -> None:
        for name, state, submitted, claimed in (
            ("never taken", "queued", now - 60, None),
            ("answered after days", "parked", now - 300_000, now - 299_000),
        ):
            transaction.run(
                "INSERT INTO dispatches (turn_id, session_id, user_name, workspace, queue, version, agent, state, "
                "submitted_at, claimed_at) VALUES (?1, ?1, 'ada', ?2, ?2, 'v', '', ?3, ?4, ?5)",
                *(name, name.partition(" ")[0], state, submitted, claimed),
            )
        dispatches._move(transaction, "answered after days", "queued")

    await machines.db.write(prepare)
    status = await machines.db.read(lambda tx: read_status(tx, lease=10.0))
    waits = {queue.workspace: queue.oldest_wait for queue in status.queues}

    assert 55 < waits["never"] < 120
    assert waits["answered"] < 30
