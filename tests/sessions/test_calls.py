"""Calls of a turn, from proposed to finished."""

from typing import Any

import pytest

from toolgate.protocol.calls import ToolCall
from toolgate.protocol.record import CallRecord
from toolgate.sessions import (
    Lease,
    SessionFenced,
    SessionManager,
)

CALL = ToolCall(id="c1", name="grep", arguments='{"pattern": "x"}')


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


def record(kind: Any, call_id: str = "c1", **payload: Any) -> CallRecord:
    return CallRecord(kind=kind, session_id=None, call_id=call_id, tool_name="grep", payload=payload)


async def test_a_call_goes_from_proposed_to_finished(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "find it")
    recorder = store.recorder(lease, turn.id)
    states = []

    async def note() -> None:
        states.extend([(call.state, call.status, call.code) for call in await store.calls(lease.session_id)])

    await store.append_message(lease.session_id, "assistant", "", lease=lease, turn_id=turn.id, tool_calls=[CALL])
    await note()
    await recorder.record(record("decision", decision="allow", gate="policy", rule="", reason="fine"))
    await note()
    await recorder.record(record("started", arguments={"pattern": "x"}))
    await note()
    await recorder.record(record("finished", status="error", code="NOT_FOUND"))
    await note()

    assert states == [
        ("proposed", None, None),
        ("approved", None, None),
        ("started", None, None),
        ("finished", "error", "NOT_FOUND"),
    ]
    assert [(event.kind, event.payload.get("call_id")) for event in (await store.events(lease.session_id))[3:]] == [
        ("call_proposed", "c1"),
        ("decision", "c1"),
        ("call_started", "c1"),
        ("call_finished", "c1"),
    ]


async def test_a_refused_call_is_finished_without_having_started(store: SessionManager) -> None:
    lease = await claimed(store)
    recorder = store.recorder(lease)
    await recorder.record(record("decision", decision="deny", gate="mode", rule="", reason="chat_safe"))
    await recorder.record(record("finished", status="error", code="MODE_DENIED"))

    assert [(call.state, call.code) for call in await store.calls(lease.session_id)] == [("finished", "MODE_DENIED")]


async def test_calls_that_share_an_id_are_kept_apart(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "twice")
    recorder = store.recorder(lease, turn.id)
    for _ in range(2):
        await store.append_message(lease.session_id, "assistant", "", lease=lease, turn_id=turn.id, tool_calls=[CALL])
        await recorder.record(record("started"))
        await recorder.record(record("finished", status="success", code=None))
        await store.append_message(lease.session_id, "tool", "ok", lease=lease, turn_id=turn.id, tool_call_id="c1")

    assert [(call.ordinal, call.state) for call in await store.calls(lease.session_id)] == [
        (0, "finished"),
        (1, "finished"),
    ]
    assert [entry.role for entry in await store.messages(lease.session_id)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


async def test_a_call_is_not_recorded_for_whoever_lost_the_session(store: SessionManager) -> None:
    lease = await claimed(store)
    await store.release(lease)

    with pytest.raises(SessionFenced):
        await store.recorder(lease).record(record("started"))
    assert await store.calls(lease.session_id) == []
