"""Approval requests are answered once and end with their turn."""

import asyncio

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.ids import uuid7
from toolgate.sessions import (
    Lease,
    SessionManager,
)


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


def question(lease: Lease) -> ApprovalRequest:
    return ApprovalRequest(
        id=uuid7(),
        tool_name="Bash",
        call_id="c1",
        session_id=lease.session_id,
        summary="rm",
        detail="rm -r x",
        fingerprint="f",
    )


async def test_a_question_is_answered_once(store: SessionManager) -> None:
    lease = await claimed(store)
    asked = question(lease)
    await store.ask(lease, asked, turn_id="t")
    pending = await store.approvals(lease.session_id)

    answers = await asyncio.gather(
        *(store.decide(asked.id, Approval(allowed=bool(n % 2), message=str(n))) for n in range(10))
    )
    decided = await store.approvals(lease.session_id)
    kinds = [event.kind for event in await store.events(lease.session_id)]

    assert [row.state for row in pending] == ["pending"]
    assert answers.count(True) == 1
    assert decided[0].message == str(answers.index(True))
    assert decided[0].state == ("allowed" if answers.index(True) % 2 else "denied")
    assert kinds == ["approval_request", "approval_resolved"]


async def test_a_question_that_nobody_asked_has_no_answer(store: SessionManager) -> None:
    assert await store.decide("nothing", Approval(allowed=True)) is False


async def test_the_questions_of_a_turn_end_with_it(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "remove it")
    asked = question(lease)
    await store.ask(lease, asked, turn_id=turn.id)
    await store.finish_turn(lease, turn.id, "cancelled")

    assert [row.state for row in await store.approvals(lease.session_id)] == ["withdrawn"]
    assert await store.decide(asked.id, Approval(allowed=True)) is False
