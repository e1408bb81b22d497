"""Going back in a session, on every database: the transcript ends earlier, and the log keeps everything."""

import pytest

from toolgate import ToolCall
from toolgate.errors import NoSuchMessage, SessionBusy
from toolgate.sessions import SessionManager
from toolgate.sessions.types import Usage


async def said(store: SessionManager, session_id: str, content: str, *, call: bool = False) -> int:
    """A turn with an answer; returns the number of the person's message."""
    lease = await store.try_claim(session_id)
    assert lease is not None
    turn = await store.start_turn(lease, content)
    if call:
        asked = ToolCall(id="c1", name="todo", arguments="{}")
        await store.append_message(session_id, "assistant", "", tool_calls=[asked], lease=lease, turn_id=turn.id)
        await store.append_message(session_id, "tool", "done", tool_call_id="c1", lease=lease, turn_id=turn.id)
        await store.todos(lease).replace([{"content": content, "status": "pending"}])
    await store.append_message(session_id, "assistant", f"re: {content}", lease=lease, turn_id=turn.id)
    await store.finish_turn(lease, turn.id, "done", release=True)
    events = await store.events(session_id)
    return next(event.seq for event in events if event.kind == "message" and event.payload["content"] == content)


async def summarised(store: SessionManager, session_id: str, summary: str) -> None:
    """Let a summary stand for everything that was said so far."""
    started = await store.claim_and_start(session_id, None, ttl=30)
    lease, turn_id = started.lease, started.turn.id
    await store.summarise(lease, turn_id, summary, 99, tokens=(100, 10), usage=Usage())
    await store.finish_turn(lease, turn_id, "done", release=True)


async def contents(store: SessionManager, session_id: str) -> list[str]:
    return [message.content for message in await store.messages(session_id)]


async def test_the_message_and_all_after_it_leave_the_transcript_and_stay_in_the_log(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    second = await said(store, session.id, "two", call=True)
    await said(store, session.id, "three")
    before = await store.events(session.id)
    assert len(await contents(store, session.id)) == 8  # it is known to the cache

    event = await store.rewind(session.id, second)

    assert await contents(store, session.id) == ["one", "re: one"]
    assert [message.content for message in await store.history(session.id)] == ["one", "re: one"]
    after = await store.events(session.id)
    assert after[: len(before)] == before
    assert [(one.kind, one.payload) for one in after if one.seq == event] == [
        ("rewound", {"to_seq": second, "files": None})
    ]
    await said(store, session.id, "four")
    assert await contents(store, session.id) == ["one", "re: one", "four", "re: four"]


async def test_the_list_of_work_becomes_what_it_was(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one", call=True)
    second = await said(store, session.id, "two", call=True)
    await store.rewind(session.id, second)
    assert await store.todo_items(session.id) == [{"content": "one", "status": "pending"}]
    first = (await store.last_user_message(session.id))[0]
    await store.rewind(session.id, first)
    assert await store.todo_items(session.id) == []
    assert await contents(store, session.id) == []


async def test_only_a_message_of_the_person_that_is_in_the_transcript_can_be_gone_back_to(
    store: SessionManager,
) -> None:
    session = await store.create()
    first = await said(store, session.id, "one")
    second = await said(store, session.id, "two")
    for seq in (first + 1, 1, 10_000):
        with pytest.raises(NoSuchMessage):
            await store.rewind(session.id, seq)
    await store.rewind(session.id, first)
    with pytest.raises(NoSuchMessage):
        await store.rewind(session.id, second)
    with pytest.raises(NoSuchMessage):
        await store.last_user_message(session.id)


async def test_while_a_turn_runs_nothing_is_gone_back_to(store: SessionManager) -> None:
    session = await store.create()
    first = await said(store, session.id, "one")
    lease = await store.try_claim(session.id)
    assert lease is not None
    await store.start_turn(lease, "two")
    with pytest.raises(SessionBusy):
        await store.rewind(session.id, first)
    assert await contents(store, session.id) == ["one", "re: one", "two"]


async def test_a_message_takes_the_place_of_another_in_one_transaction(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    second = await said(store, session.id, "two")
    started = await store.claim_and_start(session.id, "better", ttl=60, rewind_to=second)
    assert await contents(store, session.id) == ["one", "re: one", "better"]
    assert started.stored_handoff.rewound_by > second
    await store.finish_turn(started.lease, started.turn.id, "done", release=True)
    before = await store.events(session.id)
    with pytest.raises(NoSuchMessage):
        await store.claim_and_start(session.id, "again", ttl=60, rewind_to=second)
    assert await store.events(session.id) == before
    assert await store.try_claim(session.id) is not None, "nobody holds it"


async def test_the_turns_since_a_message_are_known_with_those_of_sub_agents(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    second = await said(store, session.id, "two")
    turns = await store.turns(session.id)
    child = await store.create(parent_id=session.id)
    lease = await store.try_claim(child.id)
    assert lease is not None
    turn = await store.start_turn(lease, "work", parent_id=turns[-1].id)
    assert set(await store.turns_from(session.id, second)) == {turns[-1].id, turn.id}
    assert set(await store.family(session.id)) == {session.id, child.id}


async def test_a_summary_stays_until_one_goes_back_into_what_it_covers(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    second = await said(store, session.id, "two")
    await summarised(store, session.id, "They said one and two.")
    third = await said(store, session.id, "three")
    assert (await store.context(session.id)).summary == "They said one and two."

    await store.rewind(session.id, third)
    after = await store.context(session.id)
    assert (after.summary, after.messages) == ("They said one and two.", ())

    await store.rewind(session.id, second)
    back = await store.context(session.id)
    assert (back.summary, back.quoted) == ("", ())
    assert [message.content for message in back.messages] == ["one", "re: one"]
    await said(store, session.id, "four")
    assert (await store.context(session.id)).summary == "", "it does not come back"
    await summarised(store, session.id, "They said one and four.")
    assert (await store.context((await store.fork(session.id)).id)).summary == "They said one and four."
