"""The row that dbos keeps for a turn: the statements that change it in the caller's transaction.

dbos has functions for this, but only `enqueue_in_transaction` can join another transaction. With the others, its row
and ours would contradict each other for a moment. `check` verifies the columns.
"""

from __future__ import annotations

from toolgate.distributed.names import version
from toolgate.distributed.notify import notify
from toolgate.errors import StoreError
from toolgate.sessions.driver import Transaction

NOW = "EXTRACT(EPOCH FROM clock_timestamp())"
NOW_MS = f"CAST({NOW} * 1000 AS BIGINT)"

_ROW = "workflow_uuid = ?1 AND name = 'turn'"
_CLEARED = f"owner_xid = NULL, started_at_epoch_ms = NULL, updated_at = {NOW_MS}"
_ENQUEUED = f"status = 'ENQUEUED', completed_at = NULL, {_CLEARED}"
_WITHDRAWN = f"status = 'CANCELLED', queue_name = NULL, completed_at = {NOW_MS}, {_CLEARED}"
_ORPHANED = (
    f"NOT EXISTS (SELECT 1 FROM workers k WHERE k.id = w.executor_id AND k.state <> 'gone' AND k.seen_at >= {NOW} - ?1)"
)


def check(transaction: Transaction) -> None:
    """Raise if the table of dbos is not the one that these statements were written for."""
    try:
        transaction.rows(
            "SELECT workflow_uuid, name, status, queue_name, owner_xid, executor_id, application_version, "
            "started_at_epoch_ms, updated_at, completed_at FROM dbos.workflow_status LIMIT 0"
        )
    except Exception as error:
        raise StoreError(
            "The tables of dbos are missing or of a version that this Toolgate does not know. "
            "Install the dbos that `pip install 'toolgate[distributed]'` names."
        ) from error


def withdraw(transaction: Transaction, turn_id: str) -> None:
    """Take a turn out of its queue, or away from the worker that runs it."""
    transaction.run(
        f"UPDATE dbos.workflow_status SET {_WITHDRAWN} WHERE {_ROW} AND status NOT IN ('SUCCESS', 'ERROR')",
        turn_id,
    )


def put_back(transaction: Transaction, turn_id: str, queue: str) -> None:
    """Put a turn into its queue again after a run that did not end it."""
    transaction.run(f"UPDATE dbos.workflow_status SET {_ENQUEUED}, queue_name = ?2 WHERE {_ROW}", turn_id, queue)
    notify(transaction, queue)


def leave(transaction: Transaction, turn_id: str, queue: str, worker: str) -> None:
    """Return a turn that a worker has claimed and does not run, unless another worker has it by now."""
    transaction.run(
        f"UPDATE dbos.workflow_status SET {_ENQUEUED}, queue_name = ?2 "
        f"WHERE {_ROW} AND status = 'PENDING' AND executor_id = ?3",
        *(turn_id, queue, worker),
    )
    notify(transaction, queue)


def put_back_orphans(transaction: Transaction, timeout: float) -> list[str]:
    """Put the turns of dead workers into their queues again, including those of older versions.

    A parked turn stays parked: its worker died between our note and that of dbos.
    """
    transaction.run(
        f"UPDATE dbos.workflow_status w SET {_WITHDRAWN} FROM dispatches d "
        f"WHERE d.turn_id = w.workflow_uuid AND d.state = 'parked' AND w.status = 'PENDING' AND {_ORPHANED}",
        timeout,
    )
    return [
        row[0]
        for row in transaction.rows(
            f"UPDATE dbos.workflow_status w SET {_ENQUEUED}, application_version = ?2 "
            f"WHERE w.name = 'turn' AND w.status = 'PENDING' AND w.application_version <= ?2 AND {_ORPHANED} "
            "RETURNING w.workflow_uuid",
            *(timeout, version()),
        )
    ]


def put_back_strays(transaction: Transaction, timeout: float) -> list[str]:
    """Put turns into their queues again whose workflow has ended before they did. This should not happen."""
    return [
        row[0]
        for row in transaction.rows(
            f"UPDATE dbos.workflow_status w SET {_ENQUEUED}, queue_name = d.queue FROM dispatches d "
            "WHERE d.turn_id = w.workflow_uuid AND d.state IN ('queued', 'running') "
            "AND w.status NOT IN ('ENQUEUED', 'PENDING', 'DELAYED') "
            f"AND w.updated_at < {NOW_MS} - CAST(?1 AS DOUBLE PRECISION) * 2000 RETURNING w.workflow_uuid",
            timeout,
        )
    ]


def outlived(transaction: Transaction) -> list[str]:
    """Some workflows whose turns ended more than a day ago. Our own tables have what they did."""
    return [
        row[0]
        for row in transaction.rows(
            "SELECT w.workflow_uuid FROM dbos.workflow_status w "
            f"WHERE w.name = 'turn' AND w.completed_at < {NOW_MS} - 86400000 AND NOT EXISTS "
            "(SELECT 1 FROM dispatches d WHERE d.turn_id = w.workflow_uuid AND d.state <> 'ended') "
            "ORDER BY w.completed_at LIMIT 500"
        )
    ]


def adopt(transaction: Transaction, timeout: float) -> list[str]:
    """Give turns of older versions this version, if no worker of their version is left."""
    return [
        row[0]
        for row in transaction.rows(
            "UPDATE dbos.workflow_status w SET application_version = ?1 FROM dispatches d "
            "WHERE d.turn_id = w.workflow_uuid AND w.name = 'turn' AND w.status = 'ENQUEUED' "
            "AND w.application_version < ?1 AND NOT EXISTS "
            "(SELECT 1 FROM workers k WHERE k.version = w.application_version AND k.state = 'ready' "
            f"AND k.seen_at >= {NOW} - ?2 AND jsonb_exists(CAST(k.workspaces AS jsonb), d.workspace)) "
            "RETURNING w.workflow_uuid",
            *(version(), timeout),
        )
    ]
