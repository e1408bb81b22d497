"""Turns for workers: one row of `dispatches` per turn, from its submission to its end. All times are the database's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolgate.distributed import queue as turn_queue
from toolgate.distributed.names import version
from toolgate.errors import SessionBusy
from toolgate.sessions import handoff, leases, rewind, turns
from toolgate.sessions.clock import NOW
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import EventWriter, as_json
from toolgate.sessions.types import Lease, Message, Turn

if TYPE_CHECKING:
    from pgqueuer import Job

State = Literal["queued", "running", "parked", "ended"]

_RETRY_SECONDS = 0.25
"""Seconds before a turn is claimed again if its session was in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOrigin:
    """Who submitted a turn, and which workers may run it."""

    user: str
    workspace: str
    queue: str
    agent: str = ""
    """The sub-agent whose turn it is."""


def submit(
    transaction: Transaction,
    session_id: str,
    message: Message | None,
    origin: TurnOrigin,
    *,
    request_id: str | None = None,
    parent_id: str | None = None,
    rewind_to: int | None = None,
) -> Turn:
    """Start a turn and put it into its queue. What a crash has left in the session is recovered first.

    The session is not claimed: the worker that runs the turn claims it. With `rewind_to`, the message replaces the
    person's message with that number and everything after it.
    """
    _ensure_session_idle(transaction, session_id)
    if rewind_to is not None:
        _rewind(transaction, session_id, rewind_to)
    turn = turns.begin(transaction, session_id, None, message, request_id=request_id, parent_id=parent_id)
    name = turn_queue.entrypoint(origin.queue, version(), origin.user)
    job = turn_queue.put(transaction, turn.id, session_id, name)
    transaction.run(
        "INSERT INTO dispatches "
        "(turn_id, session_id, user_name, workspace, queue, version, agent, state, submitted_at, job_id) "
        f"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'queued', {NOW}, ?8)",
        *(turn.id, session_id, origin.user, origin.workspace, origin.queue, version(), origin.agent, job),
    )
    return turn


def _rewind(transaction: Transaction, session_id: str, seq: int) -> None:
    """Go back to a message. The claim raises the fence, so a worker that has the session in memory reads it again."""
    lease = leases.claim(transaction, session_id, 60.0)
    if lease is None:
        raise SessionBusy("A turn of this session is running; wait for it, or cancel it.")
    rewind.rewind(transaction, session_id, lease, seq)
    leases.release(transaction, lease)


def _ensure_session_idle(transaction: Transaction, session_id: str) -> None:
    """Raise `SessionBusy` if a turn of the session runs. Recover a turn that a crash has left behind."""
    transaction.clock(session_id)  # locks the session: nobody else starts a turn meanwhile
    sql = "SELECT 1 FROM turns WHERE session_id = ?1 AND status = 'running' LIMIT 1"
    if transaction.row(sql, session_id) is None:
        return
    lease = leases.claim(transaction, session_id, 60.0)
    if lease is None:
        raise SessionBusy("A turn of this session is running; wait for it, or cancel it.")
    turns.recover(transaction, lease)
    leases.release(transaction, lease)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTurn:
    """A turn that a worker has claimed."""

    job: Job
    turn: Turn
    lease: Lease
    user: str
    workspace: str
    queue: str
    agent: str
    parent_session: str | None
    position: int
    """The last event of the session's log."""
    resumed: bool
    """Whether a worker has run a part of it before."""


def start(
    transaction: Transaction, job: Job, turn_id: str, session_id: str, worker: str, ttl: float
) -> ClaimedTurn | None:
    """Claim the session of a claimed job.

    If the turn has ended, remove the job. If the session is in use, postpone the job. Both return None.
    """
    turn = turns.get(transaction, turn_id)
    if turn is None or turn.status != "running":
        end(transaction, turn_id)
        turn_queue.complete(transaction, job)
        return None
    free = transaction.row("SELECT 1 FROM sessions WHERE id = ?1 FOR UPDATE SKIP LOCKED", session_id)
    lease = None if free is None else leases.claim(transaction, session_id, ttl)
    if lease is None:  # the holder of its lock may wait for this job, so waiting for the session could deadlock
        turn_queue.postpone(transaction, job, _RETRY_SECONDS)
        return None
    row = transaction.row(
        "SELECT d.claimed_at, d.state = 'running' AND d.worker <> ?2, "
        "d.user_name, d.workspace, d.queue, d.agent, s.parent_id, s.next_seq - 1 "
        "FROM dispatches d JOIN sessions s ON s.id = d.session_id "
        "WHERE d.turn_id = ?1",
        *(turn_id, worker),
    )
    assert row is not None  # the row was written together with the turn
    if row[0] is not None:
        turn = _note_resumed(transaction, lease, turn, crashed=bool(row[1]))
    transaction.run(
        f"UPDATE dispatches SET state = 'running', worker = ?2, claimed_at = {NOW}, job_id = ?3 WHERE turn_id = ?1",
        *(turn_id, worker, job.id),
    )
    names = ("user", "workspace", "queue", "agent", "parent_session", "position")
    columns = dict(zip(names, row[2:], strict=True))
    return ClaimedTurn(job=job, turn=turn, lease=lease, resumed=row[0] is not None, **columns)


def _note_resumed(transaction: Transaction, lease: Lease, turn: Turn, *, crashed: bool) -> Turn:
    """Note that the turn is resumed. It counts as another attempt if the previous worker crashed."""
    clear_live(transaction, turn.session_id)
    attempt = turn.attempt + crashed
    transaction.run("UPDATE turns SET attempt = ?2 WHERE id = ?1", turn.id, attempt)
    writer = EventWriter(transaction, turn.session_id, lease, turn_id=turn.id)
    writer.event("turn_resumed", as_json({"attempt": attempt}))
    return turn.model_copy(update={"attempt": attempt})


def finish(
    transaction: Transaction,
    lease: Lease,
    turn_id: str,
    result: dict[str, Any],
    *,
    job: Job | None = None,
    handoff_state: str | None = None,
) -> Turn:
    """End a turn, release its session, and delete its live output and its job."""
    turn = turns.finish(transaction, lease, turn_id, usage=None, **result)
    handoff.store(transaction, lease.session_id, handoff_state)
    leases.release(transaction, lease)
    end(transaction, turn_id)
    clear_live(transaction, lease.session_id)
    if turn.status != "done":
        _end_children(transaction, turn)
    if job is not None:
        turn_queue.complete(transaction, job)  # last: nothing waits for a lock with the job locked
    return turn


def clear_live(transaction: Transaction, session_id: str) -> None:
    """Delete the live text and the live output of a session."""
    transaction.run(
        "WITH printed AS (DELETE FROM live_output WHERE session_id = ?1) DELETE FROM live WHERE session_id = ?1",
        session_id,
    )


def _end_children(transaction: Transaction, parent: Turn) -> None:
    """Cancel the sub-agents of a turn that does not wait for them any longer."""
    has_some = "EXISTS (SELECT 1 FROM tool_calls WHERE session_id = ?1 AND turn_id = ?2 AND tool_name = 'task')"
    children = transaction.rows(
        "SELECT d.session_id FROM dispatches d JOIN turns t ON t.id = d.turn_id "
        f"WHERE d.state <> 'ended' AND d.agent <> '' AND t.parent_id = ?2 AND {has_some} ORDER BY d.session_id",
        *(parent.session_id, parent.id),
    )
    for (session_id,) in children:
        cancel(transaction, session_id)


def end(transaction: Transaction, turn_id: str) -> None:
    """Note that a turn has ended."""
    transaction.run(
        f"UPDATE dispatches SET state = 'ended', ended_at = {NOW} WHERE turn_id = ?1 AND state <> 'ended'", turn_id
    )


def park(transaction: Transaction, claimed: ClaimedTurn, handoff_state: str | None = None) -> None:
    """Park a turn until its approval request is answered. No worker runs it, and its session is free."""
    if _release_session(transaction, claimed, handoff_state):
        _move(transaction, claimed.turn.id, "parked")
        turn_queue.complete(transaction, claimed.job)


def put_back(transaction: Transaction, claimed: ClaimedTurn, handoff_state: str | None = None) -> None:
    """Return a turn to its queue, unless another worker has it by now."""
    if _release_session(transaction, claimed, handoff_state):
        requeue(transaction, claimed.turn.id)


def _release_session(transaction: Transaction, claimed: ClaimedTurn, handoff_state: str | None) -> bool:
    """Release the session of a turn; return whether this worker still had it."""
    if not leases.release(transaction, claimed.lease):
        return False
    handoff.store(transaction, claimed.lease.session_id, handoff_state)
    clear_live(transaction, claimed.lease.session_id)
    return True


def requeue(transaction: Transaction, turn_id: str, *, crashed: bool = False) -> None:
    """Put an open turn into its queue again, for workers of this version. A job that it still has is replaced."""
    row = transaction.row("SELECT session_id, queue, user_name, job_id FROM dispatches WHERE turn_id = ?1", turn_id)
    assert row is not None
    session_id, queue, user, old = row
    if old is not None:
        turn_queue.withdraw(transaction, old)
    job = turn_queue.put(transaction, turn_id, session_id, turn_queue.entrypoint(queue, version(), user))
    if not crashed:
        _move(transaction, turn_id, "queued")
    transaction.run("UPDATE dispatches SET job_id = ?2, version = ?3 WHERE turn_id = ?1", turn_id, job, version())


def _move(transaction: Transaction, turn_id: str, state: State) -> None:
    """Start a new waiting period. Time spent waiting for approval or on another worker does not count as queue time."""
    transaction.run(
        "UPDATE dispatches SET state = ?2, worker = NULL, job_id = NULL, "
        f"claimed_at = CASE WHEN claimed_at IS NULL THEN NULL ELSE {NOW} END WHERE turn_id = ?1",
        turn_id,
        state,
    )


def wake(transaction: Transaction, timeout: float | None) -> list[str]:
    """Enqueue parked turns whose approval requests are answered, and those that a person wants to end."""
    overdue = "FALSE" if timeout is None else f"a.asked_at < {NOW} - {float(timeout)}"
    rows = transaction.rows(
        "SELECT d.turn_id FROM dispatches d JOIN turns t ON t.id = d.turn_id WHERE d.state = 'parked' "
        "AND (t.cancel_requested_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM approvals a "
        f"WHERE a.session_id = d.session_id AND a.turn_id = d.turn_id AND a.state = 'pending' AND NOT {overdue})) "
        "LIMIT 100 FOR UPDATE OF d SKIP LOCKED"
    )
    for (turn_id,) in rows:
        requeue(transaction, turn_id)
    return [row[0] for row in rows]


def adopt(transaction: Transaction, timeout: float) -> list[str]:
    """Enqueue turns of older versions for this version if no worker of their version is left.

    These are the turns that wait, and those whose worker has died. A turn that waits without a job is enqueued, too.
    """
    rows = transaction.rows(
        "SELECT d.turn_id, d.state = 'running' FROM dispatches d WHERE d.version <= ?1 AND (d.state = 'queued' "
        f"AND (d.version = ?1 AND d.job_id IS NULL OR d.version < ?1 AND NOT EXISTS ({_SERVED})) "
        f"OR d.state = 'running' AND d.version < ?1 AND NOT EXISTS ({_ALIVE})) LIMIT 100 FOR UPDATE OF d SKIP LOCKED",
        *(version(), timeout),
    )
    for turn_id, crashed in rows:
        requeue(transaction, turn_id, crashed=crashed)
    return [row[0] for row in rows]


_ALIVE = f"SELECT 1 FROM workers k WHERE k.id = d.worker AND k.state <> 'gone' AND k.seen_at >= {NOW} - ?2"
"""The worker that runs a turn, if it is alive."""
_SERVED = (
    "SELECT 1 FROM workers k WHERE k.version = d.version AND k.state = 'ready' "
    f"AND k.seen_at >= {NOW} - ?2 AND jsonb_exists(CAST(k.workspaces AS jsonb), d.workspace)"
)
"""A worker of a turn's version that claims turns of its workspace."""


def cancel(transaction: Transaction, session_id: str) -> bool:
    """End the turn of a session and return whether there was one. If a worker runs the turn, ask it to stop."""
    transaction.clock(session_id)  # from here on no worker can claim the turn
    row = transaction.row(
        "SELECT d.turn_id, d.state, d.claimed_at, d.job_id FROM dispatches d JOIN turns t ON t.id = d.turn_id "
        "WHERE d.session_id = ?1 AND t.status = 'running' AND d.state <> 'ended' FOR UPDATE OF d",
        session_id,
    )
    if row is None:
        return turns.request_cancel(transaction, session_id)
    turn_id, state, claimed_at, job = row
    lease = leases.claim(transaction, session_id, 60.0) if state == "queued" and claimed_at is None else None
    if lease is not None:
        finish(transaction, lease, turn_id, CANCELLED)
        if job is not None:
            turn_queue.withdraw(transaction, job)
        return True
    turns.request_cancel(transaction, session_id)
    if state == "parked":
        requeue(transaction, turn_id)
    return True


CANCELLED = {"status": "cancelled", "code": "CANCELLED", "error": "The turn was cancelled."}
