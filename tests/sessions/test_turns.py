"""Turns: one at a time, begun once for each request, ended once."""

from functools import partial
from typing import Any

import pytest

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.sessions import (
    Lease,
    Message,
    SessionError,
    SessionFenced,
    SessionManager,
    Usage,
)
from toolgate.sessions.driver import Transaction


def said(role: Any, content: str, **rest: Any) -> Message:
    return Message(role=role, content=content, **rest)


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


async def test_a_turn_begins_with_what_was_said_and_ends_once(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "hello", request_id="r1")
    await store.append_message(
        lease.session_id, "assistant", "hi", lease=lease, turn_id=turn.id, usage=Usage(input_tokens=3, output_tokens=1)
    )
    await store.append_message(
        lease.session_id, "assistant", "!", lease=lease, turn_id=turn.id, usage=Usage(input_tokens=4, output_tokens=2)
    )
    done = await store.finish_turn(lease, turn.id, "done")
    again = await store.finish_turn(lease, turn.id, "failed", error="late")

    assert (turn.status, done.status, again) == ("running", "done", done)
    assert done.usage == Usage(input_tokens=7, output_tokens=3)
    assert await store.turns(lease.session_id) == [done]
    assert await store.history(lease.session_id) == [
        said("user", "hello"),
        said("assistant", "hi"),
        said("assistant", "!"),
    ]
    assert [(event.kind, event.turn_id) for event in await store.events(lease.session_id)] == [
        (kind, turn.id) for kind in ("turn_started", "message", "message", "message", "turn_finished")
    ]


async def test_the_same_request_starts_no_second_turn(store: SessionManager) -> None:
    lease, other = await claimed(store), await claimed(store)
    turn = await store.start_turn(lease, "hello", request_id="r1")
    repeated = await store.start_turn(lease, "hello", request_id="r1")
    elsewhere = await store.start_turn(other, "hello", request_id="r1")

    assert repeated == turn
    assert elsewhere.id != turn.id
    assert len(await store.messages(lease.session_id)) == 1


async def test_a_turn_needs_the_lease_of_its_session(store: SessionManager) -> None:
    lease, other = await claimed(store), await claimed(store)
    turn = await store.start_turn(lease, "hello")
    await store.release(lease)

    with pytest.raises(SessionFenced):
        await store.start_turn(lease, "again")
    with pytest.raises(SessionFenced):
        await store.finish_turn(lease, turn.id, "done")
    with pytest.raises(SessionError):
        await store.finish_turn(other, turn.id, "done")
    found = await store.turn(turn.id)
    assert found is not None
    assert found.status == "running"


async def test_a_turn_ends_in_one_of_four_ways(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "hello")

    with pytest.raises(ValueError, match="cancelled, done, failed, interrupted"):
        await store.finish_turn(lease, turn.id, "running")


async def test_cancelling_reaches_the_running_turn(store: SessionManager) -> None:
    lease = await claimed(store)
    before = await store.request_cancel(lease.session_id)
    turn = await store.start_turn(lease, "hello")
    during = await store.request_cancel(lease.session_id)
    found = await store.turn(turn.id)

    assert (before, during) == (False, True)
    assert found is not None
    assert found.cancel_requested_at is not None
    assert (await store.events(lease.session_id))[-1].kind == "cancel_requested"


async def test_the_next_turn_puts_things_in_order_by_itself(store: SessionManager) -> None:
    dead = await claimed(store)
    await store.start_turn(dead, "one")
    await store.release(dead)
    lease = await store.try_claim(dead.session_id)
    assert lease is not None
    await store.start_turn(lease, "two")

    assert [turn.status for turn in await store.turns(lease.session_id)] == ["interrupted", "running"]
    assert [event.seq for event in await store.events(lease.session_id)] == [1, 2, 3, 4, 5]


def _moved(approval_id: str, asked: float, decided: float, transaction: Transaction) -> int:
    """Let a question have been asked and answered some seconds ago."""
    sql = "UPDATE approvals SET asked_at = asked_at - ?2, decided_at = decided_at - ?3 WHERE id = ?1"
    return transaction.run(sql, approval_id, asked, decided)


async def test_a_turn_says_how_long_it_took_without_the_time_of_the_person(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "hello")
    for number, (asked, decided) in enumerate(((10.0, 5.0), (9.0, 6.0), (4.0, 3.0))):  # seconds ago; two overlap
        request = ApprovalRequest(
            id=f"{lease.session_id}-{number}",
            tool_name="Bash",
            call_id="c",
            session_id=lease.session_id,
            agent="",
            summary="s",
            detail="d",
            fingerprint="f",
        )
        await store.ask(lease, request, turn_id=turn.id)
        await store.decide(request.id, Approval(allowed=True))
        await store._db.write(partial(_moved, request.id, asked, decided))
    await store._db.write(lambda tx: tx.run("UPDATE turns SET started_at = started_at - 20 WHERE id = ?1", turn.id))
    await store.finish_turn(lease, turn.id, "done")
    [ending] = [event.payload for event in await store.events(lease.session_id) if event.kind == "turn_finished"]
    assert ending["waited_seconds"] == pytest.approx(6.0, abs=0.5)
    assert ending["seconds"] == pytest.approx(14.0, abs=2.0)
