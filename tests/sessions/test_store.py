"""What every store does, whatever it is kept in."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.record import CallRecord
from toolgate.sessions import (
    Lease,
    Message,
    MessageTooLarge,
    ModeNotEnabled,
    SessionBusy,
    SessionError,
    SessionFenced,
    SessionManager,
    SessionNotFound,
    SessionStore,
    Usage,
)
from toolgate.sessions.transcript import NO_RESULT, message

CALL = ToolCall(id="c1", name="grep", arguments='{"pattern": "x"}')


def said(role: Any, content: str, **rest: Any) -> Message:
    return Message(role=role, content=content, **rest)


async def claimed(store: SessionManager) -> Lease:
    lease = await store.try_claim((await store.create()).id)
    assert lease is not None
    return lease


async def test_every_store_is_a_session_store(store: SessionManager) -> None:
    typed: SessionStore = store

    assert (await typed.create()).mode is ToolMode.chat_safe


async def test_a_session_is_found_as_it_was_made(store: SessionManager) -> None:
    made = await store.create(title="Rust", user="ada", project="engine")

    assert await store.get(made.id) == made
    assert (made.mode, made.title, made.user, made.project) == (ToolMode.chat_safe, "Rust", "ada", "engine")


async def test_the_list_shows_the_latest_first_of_one_user_without_sub_agents(store: SessionManager) -> None:
    user = uuid7()
    first = await store.create(user=user, project="a")
    second = await store.create(user=user, project="b")
    await store.create(user="someone else")
    child = await store.create(user=user, parent_id=second.id)
    await store.append_message(first.id, "user", "hello")

    assert [session.id for session in await store.list(user=user)] == [first.id, second.id]
    assert [session.id for session in await store.list(user=user, limit=1)] == [first.id]
    assert [session.id for session in await store.list(user=user, project="b")] == [second.id]
    assert child.id in {session.id for session in await store.list(user=user, children=True)}


async def test_a_session_is_named_after_the_first_words_until_it_is_renamed(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "assistant", "Good morning.")
    await store.append_message(session.id, "user", "\n fix the build\nplease")
    await store.append_message(session.id, "user", "now")
    named = (await store.get(session.id)).title
    await store.rename(session.id, "Build")

    assert (named, (await store.get(session.id)).title) == ("fix the build", "Build")


async def test_coding_is_refused_while_the_stage_is_closed(store: SessionManager) -> None:
    with pytest.raises(ModeNotEnabled):
        await store.create(ToolMode.coding)


async def test_what_is_no_mode_is_refused(store: SessionManager) -> None:
    with pytest.raises(ValueError, match="admin"):
        await store.create("admin")


async def test_a_mode_cannot_be_set(store: SessionManager) -> None:
    assert not hasattr(store, "set_mode")


@pytest.mark.parametrize("method", ["get", "rename", "append", "claim"])
async def test_an_unknown_session_is_not_found(store: SessionManager, method: str) -> None:
    calls: dict[str, Callable[[], Awaitable[Any]]] = {
        "get": lambda: store.get("nobody"),
        "rename": lambda: store.rename("nobody", "x"),
        "append": lambda: store.append_message("nobody", "user", "x"),
        "claim": lambda: store.try_claim("nobody"),
    }

    with pytest.raises(SessionNotFound):
        await calls[method]()


async def test_an_unknown_session_has_said_nothing(store: SessionManager) -> None:
    assert (await store.messages("nobody"), await store.history("nobody"), await store.events("nobody")) == ([], [], [])


async def test_messages_come_back_as_they_were_written(store: SessionManager) -> None:
    session = await store.create()
    texts = ["plain", "", "漢字 and ½ and 🙂", "tab\tnew\nline\r\n", "'; DROP TABLE messages; --", "?1 :p1 %s"]
    for text in texts:
        await store.append_message(session.id, "user", text)

    assert await store.messages(session.id) == [said("user", text) for text in texts]


async def test_half_a_character_is_replaced(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "user", "ab\ud800c")

    assert await store.messages(session.id) == [said("user", "ab\ufffdc")]


@pytest.mark.parametrize("text", ["a\0b", "\0", "\0" * 1000, "\U0010fffe", "\U0010fffe0\0\U0010fffe1", "\ufffd"])
async def test_nul_is_kept_wherever_it_stands(store: SessionManager, text: str) -> None:
    session = await store.create(title=text)
    lease = await store.try_claim(session.id)
    assert lease is not None
    turn = await store.start_turn(lease, text)
    call = ToolCall(id="c1", name="t", arguments=text)
    await store.append_message(session.id, "assistant", text, lease=lease, turn_id=turn.id, tool_calls=[call])
    await store.append_message(session.id, "tool", text, lease=lease, turn_id=turn.id, tool_call_id="c1")
    await store.finish_turn(lease, turn.id, "failed", error=text, release=True)

    stored = await store.messages(session.id)
    assert [message.content for message in stored] == [text] * 3
    assert (stored[1].tool_calls, (await store.get(session.id)).title) == ((call,), text)
    assert [message.content for message in await store.history(session.id)] == [text] * 2
    assert [turn.error for turn in await store.turns(session.id)] == [text]
    events = [event.payload["content"] for event in await store.events(session.id) if event.kind == "message"]
    assert events == [text] * 3


async def test_calls_and_results_come_back(store: SessionManager) -> None:
    session = await store.create()
    openai_form = {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    await store.append_message(session.id, "assistant", None, tool_calls=[CALL, openai_form])
    await store.append_message(session.id, "tool", "two", tool_call_id="c2")
    await store.append_message(session.id, "tool", "one", tool_call_id="c1")

    assert await store.messages(session.id) == [
        said("assistant", "", tool_calls=(CALL, ToolCall(id="c2", name="ls", arguments="{}"))),
        said("tool", "two", tool_call_id="c2"),
        said("tool", "one", tool_call_id="c1"),
    ]


async def test_history_is_what_was_said_and_is_not_blank(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "system", "be kind")
    await store.append_message(session.id, "user", "hello")
    await store.append_message(session.id, "assistant", " \n", tool_calls=[CALL])
    await store.append_message(session.id, "tool", "result", tool_call_id="c1")
    await store.append_message(session.id, "assistant", "done")

    assert await store.history(session.id) == [said("user", "hello"), said("assistant", "done")]


@pytest.mark.parametrize(
    ("role", "options"),
    [
        ("admin", {}),
        ("tool", {}),
        ("user", {"tool_call_id": "c1"}),
        ("user", {"tool_calls": [CALL]}),
    ],
)
async def test_messages_that_make_no_sense_are_refused(store: SessionManager, role: str, options: Any) -> None:
    session = await store.create()

    with pytest.raises(ValueError):
        await store.append_message(session.id, role, "x", **options)
    assert await store.events(session.id) == []


async def test_a_message_holds_a_mebibyte_and_no_more(store: SessionManager) -> None:
    session = await store.create()
    await store.append_message(session.id, "user", "é" * (512 * 1024))

    with pytest.raises(MessageTooLarge):
        await store.append_message(session.id, "user", "é" * (512 * 1024) + "x")
    assert len(await store.messages(session.id)) == 1


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
        message(
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


async def test_a_follower_sees_what_was_and_what_comes(store: SessionManager) -> None:
    session = await store.create()
    other = await store.create()
    await store.append_message(session.id, "user", "1")
    seen = []

    async def write() -> None:
        await store.append_message(other.id, "user", "not for you")
        await store.append_message(session.id, "user", "2")

    async with asyncio.timeout(10), contextlib.aclosing(store.follow(session.id)) as events:
        async for event in events:
            seen.append(event.payload["content"])
            if len(seen) == 1:
                writing = asyncio.create_task(write())
            if len(seen) == 2:
                break
    await writing

    assert seen == ["1", "2"]


async def test_a_session_has_one_owner(store: SessionManager) -> None:
    lease = await claimed(store)

    assert await store.try_claim(lease.session_id) is None


async def test_only_one_of_many_gets_the_session(store: SessionManager) -> None:
    session = await store.create()

    claims = await asyncio.gather(*(store.try_claim(session.id) for _ in range(20)))

    assert sum(lease is not None for lease in claims) == 1


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf")])
async def test_d05_no_lease_lasts_for_ever(store: SessionManager, ttl: float) -> None:
    session = await store.create()

    with pytest.raises(ValueError, match="ttl must be more than 0"):
        await store.try_claim(session.id, ttl)


async def test_d03_the_fence_only_rises(store: SessionManager) -> None:
    session = await store.create()
    fences = []
    for ttl in (300, 0.001, 300):
        lease = await store.try_claim(session.id, ttl)
        assert lease is not None
        fences.append(lease.fence)
        if ttl == 300:
            await store.release(lease)
        else:
            await asyncio.sleep(0.01)

    assert fences == [1, 2, 3]


async def test_a_lease_that_ran_out_can_be_taken_over_and_its_writes_are_refused(store: SessionManager) -> None:
    session = await store.create()
    slow = await store.try_claim(session.id, 0.001)
    await asyncio.sleep(0.01)
    quick = await store.try_claim(session.id)
    assert slow is not None
    assert quick is not None

    with pytest.raises(SessionFenced):
        await store.append_message(session.id, "user", "late", lease=slow)
    await store.append_message(session.id, "user", "in time", lease=quick)

    assert await store.messages(session.id) == [said("user", "in time")]


async def test_d04_an_old_lease_renews_nothing_and_releases_nothing(store: SessionManager) -> None:
    session = await store.create()
    old = await store.try_claim(session.id)
    assert old is not None
    await store.release(old)
    new = await store.try_claim(session.id)
    assert new is not None
    strangers = [old, new.model_copy(update={"owner": "stranger"}), new.model_copy(update={"fence": new.fence + 1})]

    for stranger in strangers:
        with pytest.raises(SessionFenced):
            await store.renew(stranger)
        assert await store.release(stranger) is False

    assert await store.try_claim(session.id) is None
    await store.append_message(session.id, "user", "still mine", lease=new)
    assert await store.release(new) is True


async def test_a_renewed_lease_lasts_longer(store: SessionManager) -> None:
    session = await store.create()
    lease = await store.try_claim(session.id, 0.2)
    assert lease is not None

    renewed = await store.renew(lease, 300)
    await asyncio.sleep(0.25)

    assert (renewed.owner, renewed.fence) == (lease.owner, lease.fence)
    assert renewed.expires_at > lease.expires_at
    assert await store.try_claim(session.id) is None


async def test_whoever_has_no_lease_waits(store: SessionManager) -> None:
    lease = await claimed(store)

    with pytest.raises(SessionBusy):
        await store.append_message(lease.session_id, "user", "me too")
    await store.release(lease)
    await store.append_message(lease.session_id, "user", "now")

    assert await store.messages(lease.session_id) == [said("user", "now")]


async def test_a_lease_opens_no_other_session(store: SessionManager) -> None:
    lease, other = await claimed(store), await store.create()

    with pytest.raises(SessionFenced):
        await store.append_message(other.id, "user", "x", lease=lease)


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
async def test_a_lease_needs_time(store: SessionManager, ttl: float) -> None:
    session = await store.create()

    with pytest.raises(ValueError, match="ttl"):
        await store.try_claim(session.id, ttl)


async def test_a_cancelled_claim_leaves_no_lease(store: SessionManager) -> None:
    session = await store.create()
    claiming = asyncio.create_task(store.try_claim(session.id))
    await asyncio.sleep(0)
    claiming.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        finished = await claiming
        assert finished is not None
        await store.release(finished)

    assert await store.try_claim(session.id) is not None


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


async def test_the_next_turn_puts_things_in_order_by_itself(store: SessionManager) -> None:
    dead = await claimed(store)
    await store.start_turn(dead, "one")
    await store.release(dead)
    lease = await store.try_claim(dead.session_id)
    assert lease is not None
    await store.start_turn(lease, "two")

    assert [turn.status for turn in await store.turns(lease.session_id)] == ["interrupted", "running"]
    assert [event.seq for event in await store.events(lease.session_id)] == [1, 2, 3, 4, 5]


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


async def test_the_list_of_work_is_kept_whole(store: SessionManager) -> None:
    lease = await claimed(store)
    todos = store.todos(lease)
    empty = await todos.items()
    items = [{"content": "écrire", "status": "pending"}]
    await todos.replace([])
    await todos.replace(items)
    await store.release(lease)

    with pytest.raises(SessionFenced):
        await todos.replace([])
    assert (empty, await todos.items()) == ([], items)
