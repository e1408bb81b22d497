"""Everything about a session, and its conversation without what the person went back from."""

from tests.sessions.test_rewind import said
from toolgate.sessions import SessionManager
from toolgate.sessions.record import read_record


async def test_the_conversation_leaves_out_whole_turns_and_keeps_the_rewind(store: SessionManager) -> None:
    session = await store.create(title="Prices")
    await said(store, session.id, "one")
    second = await said(store, session.id, "two", call=True)
    await store.rewind(session.id, second)
    await said(store, session.id, "three")
    record = await read_record(store, await store.get(session.id))
    kinds = [event.kind for event in record.conversation]
    turn = ["turn_started", "message", "message", "turn_finished"]
    assert kinds == [*turn, "rewound", "todos", *turn]
    assert len(record.events) > len(record.conversation)
