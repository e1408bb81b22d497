"""Turns: beginning and ending them, and repairing those that a crash has ended."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from toolgate.errors import RequestRepeated, SessionBusy, SessionError
from toolgate.protocol.content import ImageContent
from toolgate.protocol.ids import uuid7
from toolgate.sessions import approvals, calls, handoff, leases, pictures, rewind, transcript
from toolgate.sessions.driver import Row, Transaction
from toolgate.sessions.event_log import ANYONE, EventWriter, as_json, clean
from toolgate.sessions.types import ENDINGS, Lease, Message, Recovery, StartedTurn, Turn, TurnTotals, Usage

_COLUMNS = (
    "SELECT id, session_id, status, attempt, request_id, parent_id, deadline, cancel_requested_at, "
    "input_tokens, output_tokens, error, started_at, finished_at FROM turns"
)

_MAX_KEY = 200
_LEASE_SECONDS = 30.0
"""Seconds of a lease that is released in the same transaction."""
_INTERRUPTED = {"status": "interrupted", "code": "INTERRUPTED", "message": "The process ended before the turn did."}


def start(
    transaction: Transaction,
    lease: Lease,
    message: Message,
    *,
    request_id: str | None,
    parent_id: str | None,
    deadline: float | None,
) -> Turn:
    """Begin a turn with the person's message, after repairing what a crash has left."""
    session_id = lease.session_id
    if request_id is not None and (known := by_request(transaction, session_id, request_id)) is not None:
        return known
    recover(transaction, lease)
    return begin(transaction, session_id, lease, message, request_id=request_id, parent_id=parent_id, deadline=deadline)


def claim_and_start(
    transaction: Transaction,
    session_id: str,
    message: Message | None,
    ttl: float,
    *,
    request_id: str | None,
    project: str | None,
    rewind_to: int | None = None,
    images: Sequence[ImageContent] = (),
) -> StartedTurn:
    """Claim a session and start a turn in it, both or neither; with `rewind_to`, in the place of an earlier message.

    A turn without a message summarises the session. `images` are the pictures of the message that are not stored yet.
    """
    if request_id is not None and (known := by_request(transaction, session_id, request_id)) is not None:
        raise RequestRepeated(
            f"This request has started a turn before ({known.status}); the session has what became of it.", known.id
        )
    lease = leases.claim(transaction, session_id, ttl)
    if lease is None:
        raise SessionBusy("A turn of this session is running; wait for it, or cancel it.")
    recover(transaction, lease)
    if rewind_to is not None:
        rewind.rewind(transaction, session_id, lease, rewind_to)
    turn = begin(transaction, session_id, lease, message, request_id=request_id, parent_id=None)
    pictures.keep(transaction, session_id, images)
    row = transaction.row("SELECT model FROM sessions WHERE id = ?1", session_id)
    stored = handoff.read(transaction, session_id, project)
    return StartedTurn(lease=lease, turn=turn, stored_handoff=stored, model=row[0] if row is not None else "")


def begin(
    transaction: Transaction,
    session_id: str,
    lease: Lease | None,
    message: Message | None,
    *,
    request_id: str | None,
    parent_id: str | None,
    deadline: float | None = None,
) -> Turn:
    """Write the beginning of a turn. No other turn of the session may run."""
    turn_id = uuid7()
    writer = EventWriter(transaction, session_id, lease, turn_id=turn_id, count=1 if message is None else 2)
    transaction.run(
        "INSERT INTO turns (id, session_id, status, request_id, parent_id, deadline, started_at) "
        "VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6)",
        turn_id,
        session_id,
        None if request_id is None else _key(request_id),
        parent_id,
        deadline,
        writer.now,
    )
    writer.event(
        "turn_started",
        as_json({"request_id": None if request_id is None else clean(request_id), "parent_id": parent_id}),
    )
    if message is not None:
        transcript.write(writer, message)
        set_title_from(writer, message)
    started = get(transaction, turn_id)
    assert started is not None
    return started


def set_title_from(writer: EventWriter, message: Message) -> None:
    """Give a session without a title the first line that its person wrote, or the name of a picture without words."""
    if not writer.nameless or message.role != "user":
        return
    first = next(iter(message.content.strip().splitlines()), "") or next((image.name for image in message.images), "")
    if title := first[:80]:
        writer.transaction.run("UPDATE sessions SET title = ?2 WHERE id = ?1", writer.session_id, title)


def finish(
    transaction: Transaction,
    lease: Lease,
    turn_id: str,
    status: str,
    *,
    code: str,
    error: str,
    usage: Usage | None,
    details: Mapping[str, Any] | None = None,
) -> Turn:
    """End a turn; one that has ended stays as it is. `details` are further members of the event `turn_finished`."""
    if status not in ENDINGS:
        raise ValueError(f"a turn ends as one of {', '.join(sorted(ENDINGS))}, not {status!r}")
    turn = get(transaction, turn_id)
    if turn is None or turn.session_id != lease.session_id:
        raise SessionError(f"The session has no turn {turn_id!r}.")
    if turn.status != "running":
        return turn
    writer = EventWriter(transaction, lease.session_id, lease, turn_id=turn_id)
    total = usage or turn.usage
    store_usage(transaction, turn_id, total, add=False)
    ending = {"status": status, "code": clean(code), "message": clean(error), "usage": total.model_dump()}
    if details and details.get("context_limit"):
        size = "UPDATE sessions SET context_tokens = ?2, context_limit = ?3 WHERE id = ?1"
        transaction.run(size, lease.session_id, details["context_tokens"], details["context_limit"])
    _end(writer, turn_id, {**(details or {}), **ending})
    ended = get(transaction, turn_id)
    assert ended is not None
    return ended


def _end(writer: EventWriter, turn_id: str, result: dict[str, Any]) -> None:
    """Write the end of a turn and how long it took. Its open approval requests are withdrawn first."""
    writer.transaction.run(
        "UPDATE turns SET status = ?2, error = ?3, finished_at = ?4 WHERE id = ?1",
        turn_id,
        result["status"],
        result["message"],
        writer.now,
    )
    approvals.withdraw(writer, turn_id)
    writer.event("turn_finished", as_json({**result, **_times(writer, turn_id)}))


def _times(writer: EventWriter, turn_id: str) -> dict[str, float]:
    """The seconds that a turn worked, and the seconds that it waited for a person."""
    rows = writer.transaction.rows(
        "SELECT t.started_at, a.asked_at, COALESCE(a.decided_at, ?2) FROM turns t LEFT JOIN approvals a "
        "ON a.turn_id = t.id AND a.session_id = t.session_id WHERE t.id = ?1 ORDER BY a.asked_at",
        *(turn_id, writer.now),
    )
    waited, until = 0.0, 0.0
    for _, asked, decided in rows:
        if asked is not None and decided > max(asked, until):  # overlapping approval requests count once
            waited += decided - max(asked, until)
            until = decided
    took = max(0.0, writer.now - rows[0][0]) if rows else 0.0
    return {"seconds": round(max(0.0, took - waited), 3), "waited_seconds": round(waited, 3)}


def store_usage(transaction: Transaction, turn_id: str, usage: Usage, *, add: bool = True) -> None:
    """Add tokens to those of the turn; without `add`, replace them."""
    before = ("input_tokens + ", "output_tokens + ") if add else ("", "")
    transaction.run(
        f"UPDATE turns SET input_tokens = {before[0]}?2, output_tokens = {before[1]}?3 WHERE id = ?1",
        turn_id,
        usage.input_tokens,
        usage.output_tokens,
    )


def request_cancel(transaction: Transaction, session_id: str) -> bool:
    """Ask the process that runs the session's turn to stop it; False if none runs."""
    running = _running(transaction, session_id)
    if not running:
        return False
    writer = EventWriter(transaction, session_id, ANYONE, turn_id=running[0])
    transaction.run(
        "UPDATE turns SET cancel_requested_at = COALESCE(cancel_requested_at, ?2) WHERE id = ?1", running[0], writer.now
    )
    writer.event("cancel_requested", "{}")
    return True


def recover(transaction: Transaction, lease: Lease) -> Recovery:
    """Repair what a crash has left. The caller holds the lease, so no other process runs a turn.

    Turns become `interrupted`, calls that had started `unknown`, and every call without an answer gets one, so that
    the transcript is valid as it is stored, too.
    """
    running = _running(transaction, lease.session_id)
    if not running:
        return Recovery(session_id=lease.session_id, turns=(), uncertain=())
    if any(_is_dispatched(transaction, turn_id) for turn_id in running):
        raise SessionBusy("A turn of this session is in the hands of the workers; wait for it, or cancel it.")
    orphans = transcript.open_calls(transcript.stored(transaction, lease.session_id))
    writer = EventWriter(transaction, lease.session_id, lease, turn_id=running[-1])
    uncertain = calls.close_after_crash(writer)
    for call_id in orphans:
        transcript.write(writer, transcript.unanswered(call_id))
    for turn_id in running:
        writer.turn_id = turn_id
        turn = get(transaction, turn_id)
        assert turn is not None
        unknown = [call.call_id for call in uncertain if call.turn_id == turn_id]
        _end(writer, turn_id, {**_INTERRUPTED, "usage": turn.usage.model_dump(), "uncertain": unknown})
    return Recovery(session_id=lease.session_id, turns=tuple(running), uncertain=uncertain)


def settle(transaction: Transaction, session_id: str) -> Recovery:
    """Do what `recover` does, unless a process has the session. In one transaction, so nobody finds it taken."""
    running = _running(transaction, session_id)
    if not running or any(_is_dispatched(transaction, turn_id) for turn_id in running):
        return Recovery(session_id=session_id, turns=(), uncertain=())
    lease = leases.claim(transaction, session_id, _LEASE_SECONDS)
    if lease is None:
        return Recovery(session_id=session_id, turns=(), uncertain=())
    recovery = recover(transaction, lease)
    leases.release(transaction, lease)
    return recovery


def _running(transaction: Transaction, session_id: str) -> list[str]:
    sql = "SELECT id FROM turns WHERE session_id = ?1 AND status = 'running' ORDER BY started_at, id"
    return [row[0] for row in transaction.rows(sql, session_id)]


def _is_dispatched(transaction: Transaction, turn_id: str) -> bool:
    """Whether workers run the turn. Then another worker continues it, and only workers may end it."""
    sql = "SELECT 1 FROM dispatches WHERE turn_id = ?1 AND state <> 'ended'"
    return transaction.row(sql, turn_id) is not None


def get(transaction: Transaction, turn_id: str) -> Turn | None:
    """One turn."""
    row = transaction.row(f"{_COLUMNS} WHERE id = ?1", turn_id)
    return None if row is None else _turn(row)


def by_request(transaction: Transaction, session_id: str, request_id: str) -> Turn | None:
    """The turn that a client's request has started."""
    row = transaction.row(f"{_COLUMNS} WHERE session_id = ?1 AND request_id = ?2", session_id, _key(request_id))
    return None if row is None else _turn(row)


def _key(request_id: str) -> str:
    """A client's id as it is stored: a long one by its hash, because an index has a limit."""
    text = clean(request_id)
    return text if len(text) <= _MAX_KEY else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def of_session(transaction: Transaction, session_id: str) -> list[Turn]:
    """All turns of a session, oldest first."""
    return [
        _turn(row) for row in transaction.rows(f"{_COLUMNS} WHERE session_id = ?1 ORDER BY started_at, id", session_id)
    ]


def totals(transaction: Transaction, session_id: str) -> TurnTotals:
    """How many turns a session has, and their tokens, added up by the database."""
    row = transaction.row(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN status = 'running' THEN 1 ELSE 0 END), 0), "
        "COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0) FROM turns WHERE session_id = ?1",
        session_id,
    )
    assert row is not None
    count, running, read, written = map(int, row)
    return TurnTotals(count=count, running=running, usage=Usage(input_tokens=read, output_tokens=written))


_NAMES: Sequence[str] = (
    "id session_id status attempt request_id parent_id deadline cancel_requested_at "
    "input_tokens output_tokens error started_at finished_at"
).split()


def _turn(row: Row) -> Turn:
    fields: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    usage = Usage(input_tokens=fields.pop("input_tokens"), output_tokens=fields.pop("output_tokens"))
    return Turn(usage=usage, **fields)
