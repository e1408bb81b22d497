"""A new session from the beginning of another one, on every database."""

import pytest

from tests.sessions.test_permissions import CALL, FOLDER, asked
from tests.sessions.test_rewind import contents, said, summarised
from toolgate.errors import NoSuchMessage, SessionNotFound
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.modes import ApprovalMode, ToolMode
from toolgate.sessions import Database, SessionManager
from toolgate.sessions.types import SessionPermissions
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
    last, _ = await store.last_user_message(twice.id)
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


@pytest.mark.parametrize("mode", ["accept_edits", "plan"])
async def test_a_fork_asks_and_has_no_remembered_rules(store: SessionManager, mode: ApprovalMode) -> None:
    session = await store.create(approval_mode=mode)
    lease = await store.try_claim(session.id)
    assert lease is not None
    turn = await store.start_turn(lease, "one")
    for choice in (CALL, FOLDER):
        request_id = await asked(store, lease, CALL, FOLDER)
        await store.decide(request_id, Approval(allowed=True, remember=True, choice=choice.id))
    await store.finish_turn(lease, turn.id, "done", release=True)
    assert len((await store.permissions(session.id)).permissions) == 2
    for made in (
        await store.fork(session.id),
        await store.fork(session.id, (await store.last_user_message(session.id))[0]),
    ):
        assert (made.approval_mode, (await store.get(made.id)).approval_mode) == (ApprovalMode.ask, ApprovalMode.ask)
        assert await store.permissions(made.id) == SessionPermissions(approval_mode=ApprovalMode.ask)
    kept = await store.permissions(session.id)
    assert (kept.approval_mode, len(kept.permissions)) == (mode, 2)


async def test_a_fork_reads_the_summary_if_it_has_all_that_was_summarised(store: SessionManager) -> None:
    session = await store.create()
    await said(store, session.id, "one")
    second = await said(store, session.id, "two")
    await summarised(store, session.id, "They said one and two.")
    await said(store, session.id, "three")
    whole, earlier = await store.fork(session.id), await store.fork(session.id, second)
    found = await store.context(whole.id)
    assert (found.summary, found.quoted) == ("They said one and two.", ("one", "two"))
    assert [message.content for message in found.messages] == ["three", "re: three"]
    found = await store.context(earlier.id)
    assert (found.summary, found.quoted) == ("", ())
    assert [message.content for message in found.messages] == ["one", "re: one"]
    assert await store.restore_context(whole.id)
    assert (await store.context(session.id)).summary, "the summary of the first session is its own"


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
