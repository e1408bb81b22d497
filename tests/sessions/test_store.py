"""What every store does, whatever it is kept in."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import (
    Lease,
    Message,
    MessageTooLarge,
    ModeNotEnabled,
    SessionFenced,
    SessionManager,
    SessionNotFound,
    SessionStore,
)

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


async def test_coding_is_refused_while_it_is_not_enabled(store: SessionManager) -> None:
    with pytest.raises(ModeNotEnabled, match=r"SESSION_CODING_ENABLED=true.*Settings\.of\(session="):
        await store.create(ToolMode.coding)


async def test_what_is_no_mode_is_refused(store: SessionManager) -> None:
    with pytest.raises(ValueError, match="admin"):
        await store.create("admin")  # type: ignore[arg-type]  # what is tested


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
