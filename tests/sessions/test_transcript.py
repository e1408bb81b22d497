"""A transcript is valid for a provider, whatever is in the database."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolgate.protocol.calls import ToolCall
from toolgate.sessions import Message
from toolgate.sessions.transcript import NO_RESULT, open_calls, valid


def asks(*ids: str) -> Message:
    return Message(
        role="assistant", content="", tool_calls=tuple(ToolCall(id=name, name="t", arguments="{}") for name in ids)
    )


def answers(id: str, content: str = "ok") -> Message:
    return Message(role="tool", content=content, tool_call_id=id)


def says(role: Any, content: str) -> Message:
    return Message(role=role, content=content)


def test_d11_an_orphan_is_closed_as_an_error_where_it_belongs() -> None:
    before = [says("user", "a"), asks("1", "2"), answers("1"), says("user", "b"), says("assistant", "c")]

    assert valid(before) == [
        says("user", "a"),
        asks("1", "2"),
        answers("1"),
        answers("2", NO_RESULT),
        says("user", "b"),
        says("assistant", "c"),
    ]


def test_answers_keep_their_order_and_come_right_after_the_calls() -> None:
    before = [asks("1", "2"), answers("2"), says("user", "hurry"), answers("1")]

    assert valid(before) == [asks("1", "2"), answers("2"), answers("1"), says("user", "hurry")]


def test_answers_to_nothing_and_second_answers_are_left_out() -> None:
    before = [answers("0"), asks("1"), answers("1", "first"), answers("1", "second"), answers("2"), says("user", "x")]

    assert valid(before) == [asks("1"), answers("1", "first"), says("user", "x")]


def test_an_id_that_is_used_again_gets_its_own_answer() -> None:
    before = [asks("1"), asks("1"), answers("1", "of the second")]

    assert valid(before) == [asks("1"), answers("1", NO_RESULT), asks("1"), answers("1", "of the second")]


def test_an_id_that_is_used_twice_in_one_message_gets_two_answers() -> None:
    assert valid([asks("1", "1"), answers("1", "a")]) == [asks("1", "1"), answers("1", "a"), answers("1", NO_RESULT)]


def test_the_open_calls_are_those_without_an_answer() -> None:
    assert open_calls([asks("1", "2"), answers("2"), asks("3")]) == ["1", "3"]


ids = st.sampled_from("123")
entries = st.one_of(
    st.builds(says, st.sampled_from(["user", "assistant", "system"]), st.text(max_size=3)),
    st.lists(ids, min_size=1, max_size=3).map(lambda chosen: asks(*chosen)),
    st.builds(answers, ids, st.sampled_from("abc")),
)


@given(st.lists(entries, max_size=12))
def test_every_transcript_becomes_valid_and_stays_so(messages: list[Message]) -> None:
    result = valid(messages)
    position = 0
    while position < len(result):
        calls = sorted(call.id for call in result[position].tool_calls)
        given_ids = [entry.tool_call_id or "" for entry in result[position + 1 : position + 1 + len(calls)]]
        assert result[position].role != "tool"
        assert sorted(given_ids) == calls
        position += 1 + len(calls)

    assert valid(result) == result
    assert [entry for entry in result if entry.role != "tool"] == [entry for entry in messages if entry.role != "tool"]
