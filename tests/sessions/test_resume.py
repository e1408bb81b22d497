"""After a crash everything is put in order."""

from typing import Any

from toolgate.protocol.calls import ToolCall
from toolgate.protocol.record import CallRecord
from toolgate.sessions import (
    Lease,
    SessionManager,
)
from toolgate.sessions.transcript import NO_RESULT


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


def record(kind: Any, call_id: str = "c1", **payload: Any) -> CallRecord:
    return CallRecord(kind=kind, session_id=None, call_id=call_id, tool_name="grep", payload=payload)


async def test_after_a_crash_everything_is_put_in_order(store: SessionManager) -> None:
    dead = await claimed(store)
    turn = await store.start_turn(dead, "work")
    calls = [ToolCall(id=name, name="grep", arguments="{}") for name in ("ran", "running", "waiting")]
    await store.append_message(dead.session_id, "assistant", "", lease=dead, turn_id=turn.id, tool_calls=calls)
    recorder = store.recorder(dead, turn.id)
    await recorder.record(record("started", "ran"))
    await recorder.record(record("finished", "ran", status="success", code=None))
    await store.append_message(dead.session_id, "tool", "ok", lease=dead, turn_id=turn.id, tool_call_id="ran")
    await recorder.record(record("started", "running"))
    await store.release(dead)  # what the time limit or the death of its process does
    lease = await store.try_claim(dead.session_id)
    assert lease is not None

    recovery = await store.recover(lease)
    nothing = await store.recover(lease)

    assert (recovery.turns, [call.call_id for call in recovery.uncertain]) == ((turn.id,), ["running"])
    assert not nothing
    assert {call.call_id: (call.state, call.code) for call in await store.calls(lease.session_id)} == {
        "ran": ("finished", None),
        "running": ("unknown", None),
        "waiting": ("finished", "CANCELLED"),
    }
    assert [found.status for found in await store.turns(lease.session_id)] == ["interrupted"]
    assert [(m.role, m.tool_call_id, m.content) for m in await store.messages(lease.session_id)] == [
        ("user", None, "work"),
        ("assistant", None, ""),
        ("tool", "ran", "ok"),
        ("tool", "running", NO_RESULT),
        ("tool", "waiting", NO_RESULT),
    ]
    stored = [event.payload for event in await store.events(lease.session_id) if event.kind == "message"]
    assert [payload.get("tool_call_id") for payload in stored] == [None, None, "ran", "running", "waiting"]


async def test_what_a_crash_has_left_is_settled_where_nobody_is_at_work(store: SessionManager) -> None:
    dead = await claimed(store)
    turn = await store.start_turn(dead, "work")
    assert not await store.settle(dead.session_id), "someone is at work"
    await store.release(dead)

    recovery = await store.settle(dead.session_id)

    assert recovery.turns == (turn.id,)
    assert [found.status for found in await store.turns(dead.session_id)] == ["interrupted"]
    lease = await store.try_claim(dead.session_id)
    assert lease is not None, "it is free"


async def test_where_there_is_nothing_to_settle_nobody_finds_the_session_taken(store: SessionManager) -> None:
    lease = await claimed(store)
    turn = await store.start_turn(lease, "work")
    await store.finish_turn(lease, turn.id, "done", release=True)

    assert not await store.settle(lease.session_id)

    following = await store.try_claim(lease.session_id)
    assert following is not None
    assert following.fence == lease.fence + 1, "nobody has had it in between"
