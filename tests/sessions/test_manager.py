"""Ids that come from outside: whatever they are, they name nothing or are kept."""

import random
from typing import Any

import pytest

from toolgate.protocol.approval import Approval
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import SessionFenced, SessionManager, SessionNotFound

LONG = random.Random(1).randbytes(5_000).hex()
STRANGE = ["", LONG, "\0", "a\ud800b", "x" * 100_000, "' OR 1=1 --", "é" * 5_000, "\U0001f600"]


@pytest.mark.parametrize("session_id", STRANGE, ids=lambda text: repr(text[:12]))
async def test_a_strange_session_does_not_exist(store: SessionManager, session_id: str) -> None:
    for asked in (
        store.get(session_id),
        store.append_message(session_id, "user", "hello"),
        store.try_claim(session_id),
        store.rename(session_id, "title"),
    ):
        with pytest.raises(SessionNotFound):
            await asked
    assert await store.get_mode(session_id) is ToolMode.chat_safe
    empty: list[Any] = [
        await store.messages(session_id),
        await store.history(session_id),
        await store.turns(session_id),
        await store.calls(session_id),
        await store.events(session_id),
        await store.approvals(session_id),
    ]
    assert empty == [[]] * 6
    assert await store.turn(session_id) is None
    assert await store.request_cancel(session_id) is False
    assert await store.decide(session_id, Approval(allowed=True)) is False


@pytest.mark.parametrize("request_id", STRANGE, ids=lambda text: repr(text[:12]))
async def test_a_strange_request_starts_one_turn(store: SessionManager, request_id: str) -> None:
    session = await store.create()
    lease = await store.try_claim(session.id)
    assert lease is not None
    turn = await store.start_turn(lease, "hello", request_id=request_id)
    assert await store.start_turn(lease, "hello", request_id=request_id) == turn
    assert await store.turn_of_request(session.id, request_id) == turn
    assert await store.turn_of_request(session.id, request_id + "x") is None
    started = [event.payload["request_id"] for event in await store.events(session.id) if event.kind == "turn_started"]
    assert started == [request_id.replace("\ud800", "\ufffd")]


async def test_strange_texts_are_kept_as_far_as_they_are_text(store: SessionManager) -> None:
    session = await store.create(title="a\0b\ud800", user="u\0", project="p\ud800")
    found = await store.get(session.id)
    assert (found.title, found.user, found.project) == ("a\0b\ufffd", "u\0", "p\ufffd")
    assert [one.id for one in await store.list(user="u\0", project="p\ud800")] == [session.id]
    lease = await store.try_claim(session.id)
    assert lease is not None
    with pytest.raises(SessionFenced):
        await store.append_message(session.id, "user", "x", lease=lease.model_copy(update={"owner": "\ud800\0"}))
