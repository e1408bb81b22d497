"""A turn reads what was added since the last one, and never what is not true any more."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import OPEN, Stage, call
from tests.kit import ProbeTool
from tests.support.databases import coding
from toolgate.agent import TurnDone
from toolgate.errors import SessionFenced
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.sessions import Database, Message, SessionManager, TurnTotals, Usage
from toolgate.sessions.connections import SqliteTransaction
from toolgate.sessions.transcript import stored_from
from toolgate.sessions.transcript_cache import NOTHING, CachedTranscript, TranscriptCache
from toolgate.settings import SessionSettings
from toolgate.testing import AutoApprover


class Reads:
    """Counts what the database gives."""

    def __init__(self) -> None:
        self.rows = 0
        self.statements = 0

    def count(self, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Count the statements of one kind of transaction, and the rows that they answer."""
        for name in ("rows", "row"):
            usual = getattr(kind, name)

            def counted(transaction: Any, sql: str, *values: Any, usual: Any = usual) -> Any:
                found = usual(transaction, sql, *values)
                self.statements += 1
                self.rows += len(found) if isinstance(found, list) else 1
                return found

            monkeypatch.setattr(kind, name, counted)


@pytest.fixture
def reads(kind: str, monkeypatch: pytest.MonkeyPatch) -> Reads:
    made = Reads()
    if kind == "postgres":
        from toolgate.sessions.postgres import PostgresTransaction

        made.count(PostgresTransaction, monkeypatch)
    else:
        made.count(SqliteTransaction, monkeypatch)
    return made


async def test_what_a_turn_reads_does_not_grow_with_the_turns_before_it(db: Database, reads: Reads) -> None:
    turns = [[call("probe", id=f"c{number}")] if number % 2 == 0 else f"answer {number}" for number in range(80)]
    sessions = SessionManager(db, OPEN)
    probe = ProbeTool()
    probe.requires_permission = True
    stage = await Stage.set(turns, probe, sessions=sessions, approver=AutoApprover(True))
    costs = []
    for _ in range(40):
        reads.rows = reads.statements = 0
        assert isinstance((await stage.say())[-1], TurnDone)
        costs.append((reads.statements, reads.rows))
    await stage.loop.aclose()
    # a lease that is renewed while a turn runs adds a statement to that turn
    assert min(costs[3:10]) == min(costs[18:25]) == min(costs[33:40])
    assert len(stage.model.requests[-1].messages) > 100  # the model still gets everything


async def test_turns_are_counted_without_being_read(db: Database, reads: Reads) -> None:
    sessions = SessionManager(db, OPEN)
    session = await sessions.create()
    lease = await sessions.try_claim(session.id)
    assert lease is not None
    assert await sessions.turn_totals(session.id) == TurnTotals(count=0, running=0, usage=Usage())
    for _ in range(20):
        turn = await sessions.start_turn(lease, "Hello")
        used = Usage(input_tokens=3, output_tokens=2)
        await sessions.append_message(session.id, "assistant", "Yes.", lease=lease, turn_id=turn.id, usage=used)
        await sessions.finish_turn(lease, turn.id, "done")
    await sessions.start_turn(lease, "And now?")
    reads.rows = 0
    found = await sessions.turn_totals(session.id)
    assert found == TurnTotals(count=21, running=1, usage=Usage(input_tokens=60, output_tokens=40))
    assert reads.rows == 1


async def test_what_somebody_else_adds_between_two_turns_is_read(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "user", "one")
    assert [said.content for said in await store.messages(session.id)] == ["one"]
    lease = await store.try_claim(session.id)
    assert lease is not None
    await store.append_message(session.id, "assistant", "two", lease=lease)
    assert [said.content for said in await store.messages(session.id)] == ["one", "two"]
    await store.release(lease)
    with pytest.raises(SessionFenced):
        await store.append_message(session.id, "assistant", "lost", lease=lease)
    await store.append_message(session.id, "user", "three")
    assert [said.content for said in await store.messages(session.id)] == ["one", "two", "three"]


async def test_other_processes_are_read_too(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "memory":
        url = f"sqlite:///{tmp_path}/shared.db"  # a database in memory has no other processes
    else:
        url = request.getfixturevalue("postgres_url") if kind == "postgres" else f"sqlite:///{tmp_path}/a.db"
    one, other = Database(url), Database(url)
    await one.migrate()
    mine, theirs = (SessionManager(db, SessionSettings()) for db in (one, other))
    session = await mine.create()
    for number in range(4):
        writer = (mine, theirs)[number % 2]
        await writer.append_message(session.id, "user", str(number))
        for reader in (mine, theirs):
            assert [said.content for said in await reader.messages(session.id)] == list("0123"[: number + 1])
    await one.close()
    await other.close()


async def test_what_a_caller_does_with_a_transcript_changes_no_other(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "user", "one")
    (await store.messages(session.id)).clear()
    assert [said.content for said in await store.messages(session.id)] == ["one"]


async def test_a_database_that_was_restored_is_read_again(tmp_path: Path) -> None:
    path, backup = tmp_path / "a.db", tmp_path / "backup.db"
    db = Database(f"sqlite:///{path}")
    await db.migrate()
    store = SessionManager(db, coding())
    session = await store.create()
    await store.append_message(session.id, "user", "one")
    with sqlite3.connect(path) as from_, sqlite3.connect(backup) as to:
        from_.backup(to)
    await store.append_message(session.id, "user", "two")
    assert [said.content for said in await store.messages(session.id)] == ["one", "two"]
    for name in (f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)
    shutil.copy(backup, tmp_path / "new")
    (tmp_path / "new").replace(path)
    assert [said.content for said in await store.messages(session.id)] == ["one"]
    await db.close()


async def test_a_session_that_was_removed_has_no_transcript(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "user", "one")
    await store.messages(session.id)
    later = await store.create()
    await store.append_message(later.id, "user", "two")
    assert await store.remove(session.id, before=1e12)
    assert await store.messages(session.id) == []


def known(size: int) -> CachedTranscript:
    return CachedTranscript([Message(role="user", content="x")], [None], [1], [0], 1, size)


def test_transcripts_give_way_to_those_that_are_used() -> None:
    cache = TranscriptCache(limit=100)
    for name in ("a", "b"):
        cache.keep(name, known(40))
    cache.keep("a", cache.get("a"))
    cache.keep("c", known(40))
    assert [bool(cache.get(name).place) for name in "abc"] == [True, False, True]


def test_a_transcript_that_is_too_large_for_all_is_not_kept() -> None:
    cache = TranscriptCache(limit=100)
    cache.keep("a", known(40))
    cache.keep("b", known(200))
    assert [bool(cache.get(name).place) for name in "ab"] == [True, False]


def _question(number: int, session_id: str) -> ApprovalRequest:
    return ApprovalRequest(
        id=f"{session_id}-{number}",
        session_id=session_id,
        call_id=f"c{number}",
        tool_name="t",
        agent="",
        summary="s",
        detail="d",
        fingerprint=str(number),
    )


async def test_the_open_questions_are_found_among_all_that_were_answered(store: SessionManager) -> None:
    session = await store.create()
    lease = await store.try_claim(session.id)
    assert lease is not None
    turn = await store.start_turn(lease, "go")
    for number in range(5):
        await store.ask(lease, _question(number, session.id), turn_id=turn.id)
    for number in (0, 1, 3):
        await store.decide(f"{session.id}-{number}", Approval(allowed=True))
    assert [row.id for row in await store.pending_approvals(session.id)] == [f"{session.id}-2", f"{session.id}-4"]
    await store.finish_turn(lease, turn.id, "done", release=True)
    assert await store.pending_approvals(session.id) == []


async def test_ending_a_turn_looks_at_open_questions_only(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/a.db")
    await db.migrate()
    await db.close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        plans = [
            connection.execute(f"EXPLAIN QUERY PLAN SELECT id FROM approvals WHERE {where}").fetchall()
            for where in (
                "session_id = 'a' AND turn_id = 'b' AND state = 'pending'",
                "session_id = 'a' AND state = 'pending'",
                "session_id = 'a' AND state = 'allowed' AND remember = 1 AND agent = ''",
            )
        ]
    used = ["approvals_pending", "approvals_pending", "approvals_remembered"]
    assert [name in json.dumps(plan) for name, plan in zip(used, plans, strict=True)] == [True] * 3


async def test_the_tail_of_a_transcript_is_found_without_going_through_what_came_before(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/long.db")
    await db.migrate()
    store = SessionManager(db, SessionSettings())
    session = await store.create()
    for number in range(600):
        await store.append_message(session.id, "user", f"message {number}")
    await db.close()
    connection = sqlite3.connect(tmp_path / "long.db", isolation_level=None)
    transaction = SqliteTransaction(connection)
    whole = NOTHING.with_tail(transaction, session.id)
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    connection.set_progress_handler(step, 1)
    assert whole.with_tail(transaction, session.id) is whole
    connection.close()
    assert steps < 200  # instructions of SQLite; through the whole session it takes thousands


async def test_the_tail_holds_nothing_of_another_session(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/two.db")
    await db.migrate()
    store = SessionManager(db, SessionSettings())
    first, second = await store.create(), await store.create()
    for session in (first, second):
        await store.append_message(session.id, "user", "the same")
    await db.close()
    connection = sqlite3.connect(tmp_path / "two.db", isolation_level=None)
    transaction = SqliteTransaction(connection)
    of_first = NOTHING.with_tail(transaction, first.id)
    found = stored_from(transaction, second.id, of_first.place)
    connection.close()
    assert [row.place for row in found] != [of_first.place]
    assert len(found) == 1
