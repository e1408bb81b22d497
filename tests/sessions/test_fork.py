"""A new session from the beginning of another one, on every database."""

import pytest

from tests.sessions.test_rewind import contents, said
from toolgate.errors import NoSuchMessage, SessionNotFound
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings


async def test_everything_before_a_message_is_copied_and_the_first_session_stays(store: SessionManager) -> None:
    session = await store.create(user="ann", project="/shop", title="Prices")
    await said(store, session.id, "one", call=True)
    second = await said(store, session.id, "two", call=True)
    before = await store.events(session.id)

    made = await store.fork(session.id, second)

    assert (made.user, made.project, made.mode, made.title) == ("ann", "/shop", ToolMode.chat_safe, "Prices (fork)")
    assert await contents(store, made.id) == ["one", "", "done", "re: one"]
    assert await store.todo_items(made.id) == [{"content": "one", "status": "pending"}]
    copied = await store.events(made.id)
    assert [event.seq for event in copied] == list(range(1, len(copied) + 1))
    assert (copied[-1].kind, copied[-1].payload) == ("forked", {"session_id": session.id, "seq": len(copied)})
    assert [(event.kind, event.payload) for event in copied[:-1]] == [
        (event.kind, event.payload) for event in before[: len(copied) - 1]
    ]
    assert [turn.status for turn in await store.turns(made.id)] == ["done"]
    assert len(await store.calls(made.id)) == 1
    assert await store.events(session.id) == before
    await said(store, made.id, "three")
    assert (await contents(store, made.id))[-2:] == ["three", "re: three"]
    assert (await contents(store, session.id))[-1] == "re: two"


async def test_a_fork_of_a_fork_of_a_session_that_was_gone_back_in(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    wrong = await said(store, session.id, "wrong")
    await store.rewind(session.id, wrong)
    await said(store, session.id, "right")
    twice = await store.fork((await store.fork(session.id)).id)
    assert await contents(store, twice.id) == ["one", "re: one", "right", "re: right"]
    assert await store.stored_handoff(twice.id) == await store.stored_handoff(session.id)
    last, _ = await store.last_said(twice.id)
    await store.rewind(twice.id, last)
    assert await contents(store, twice.id) == ["one", "re: one"]


async def test_a_turn_that_runs_is_left_out(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    lease = await store.try_claim(session.id)
    assert lease is not None
    await store.start_turn(lease, "two")
    made = await store.fork(session.id)
    assert await contents(store, made.id) == ["one", "re: one"]
    assert [turn.status for turn in await store.turns(made.id)] == ["done"]


async def test_what_was_allowed_for_the_rest_of_the_session_is_not_allowed_in_the_fork(store: SessionManager) -> None:
    from toolgate.protocol.approval import Approval, ApprovalRequest

    session = await store.create()
    lease = await store.try_claim(session.id)
    assert lease is not None
    turn = await store.start_turn(lease, "one")
    request = ApprovalRequest(
        id="a1",
        tool_name="Bash",
        call_id="c",
        session_id=session.id,
        agent="",
        summary="s",
        detail="d",
        fingerprint="f",
    )
    await store.ask(lease, request, turn_id=turn.id)
    await store.decide("a1", Approval(allowed=True, remember=True))
    await store.finish_turn(lease, turn.id, "done", release=True)
    assert (await store.stored_handoff(session.id)).allowed == ("f",)
    made = await store.fork(session.id)
    assert (await store.stored_handoff(made.id)).allowed == ()
    assert await store.pending_approvals(made.id) == []


async def test_the_mode_is_never_widened_and_falls_back_when_coding_was_switched_off(db: Database) -> None:
    on = SessionManager(db, SessionSettings(coding_enabled=True))
    off = SessionManager(db, SessionSettings(coding_enabled=False))
    coding, safe = await on.create("coding"), await on.create("chat_safe")
    for session in (coding, safe):
        await said(on, session.id, "one")
    assert (await on.fork(coding.id)).mode is ToolMode.coding
    assert (await on.fork(safe.id)).mode is ToolMode.chat_safe
    fallen = await off.fork(coding.id)
    assert fallen.mode is ToolMode.chat_safe
    assert (await on.get(fallen.id)).mode is ToolMode.chat_safe, "it stays so when coding is switched on again"


async def test_what_is_not_there_is_not_forked(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    child = await store.create(parent_id=session.id)
    known = len(await store.list(children=True))
    with pytest.raises(NoSuchMessage):
        await store.fork(session.id, 99)
    with pytest.raises(NoSuchMessage):
        await store.fork(child.id)
    with pytest.raises(SessionNotFound):
        await store.fork("nobody")
    assert len(await store.list(children=True)) == known
