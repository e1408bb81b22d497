"""The log: numbered without gaps, read in pieces, and what messages are made of."""

import asyncio
import contextlib

from toolgate.protocol.calls import ToolCall
from toolgate.sessions import (
    Lease,
    SessionFenced,
    SessionManager,
)
from toolgate.sessions.transcript import new_message

CALL = ToolCall(id="c1", name="grep", arguments='{"pattern": "x"}')


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


async def test_numbers_have_no_gap_even_where_writes_fail(store: SessionManager) -> None:
    lease = await claimed(store)
    stale = lease.model_copy(update={"fence": lease.fence - 1})

    async def append(number: int) -> None:
        with contextlib.suppress(SessionFenced):
            used = stale if number % 3 == 0 else lease
            await store.append_message(lease.session_id, "user", str(number), lease=used)

    await asyncio.gather(*(append(number) for number in range(60)))
    events = await store.events(lease.session_id)

    assert [event.seq for event in events] == list(range(1, 41))
    assert sorted(int(event.payload["content"]) for event in events) == [n for n in range(60) if n % 3]


async def test_messages_are_a_projection_of_the_log(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "user", "hello")
    await store.append_message(session.id, "assistant", "", tool_calls=[CALL])
    await store.append_message(session.id, "tool", "found", tool_call_id="c1")
    events = await store.events(session.id)
    replayed = [
        new_message(
            event.payload["role"],
            event.payload["content"],
            event.payload.get("tool_calls"),
            event.payload.get("tool_call_id"),
        )
        for event in events
        if event.kind == "message"
    ]

    assert replayed == await store.messages(session.id)


async def test_the_log_is_read_in_pieces(store: SessionManager) -> None:
    lease = await claimed(store)
    for number in range(5):
        await store.append_event(lease, "note", {"n": number}, turn_id="t")

    events = await store.events(lease.session_id, 1, limit=2)

    assert [(event.seq, event.kind, event.turn_id, event.version, event.payload, event.fence) for event in events] == [
        (2, "note", "t", 1, {"n": 1}, lease.fence),
        (3, "note", "t", 1, {"n": 2}, lease.fence),
    ]
