"""Compaction: what is left out, and what never is."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolgate.agent.compaction import Compactor, tokens_of
from toolgate.protocol.content import StoredImage
from toolgate.sessions import Message as StoredMessage

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def step(number: int, outputs: list[int], text: str = "") -> list[Message]:
    ids = [f"{number}-{place}" for place in range(len(outputs))]
    calls = [{"id": made, "type": "function", "function": {"name": "t", "arguments": "{}"}} for made in ids]
    answers = [
        {"role": "tool", "tool_call_id": made, "content": "x" * size} for made, size in zip(ids, outputs, strict=True)
    ]
    return [{"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}, *answers]


def conversation(*parts: str | list[int]) -> list[Message]:
    messages: list[Message] = []
    for number, part in enumerate(parts):
        messages += [user(part)] if isinstance(part, str) else step(number, part, "said")
    return messages


def size_of(messages: list[Message]) -> int:
    return sum(map(tokens_of, messages))


def test_what_fits_is_left_alone() -> None:
    messages = conversation("a", [400], "b", [])
    assert Compactor(1000).fit(messages, 10) == (messages, size_of(messages) + 10, size_of(messages) + 10)


def test_outputs_of_old_calls_go_first() -> None:
    messages = conversation("a", [4000], "b", [4000], [100])
    kept, size, before = Compactor(1500).fit(messages, 0)
    assert [message["role"] for message in kept] == [message["role"] for message in messages]
    assert "4000 characters of output left out" in kept[2]["content"]
    assert (before, size) == (size_of(messages), size_of(kept))
    assert size <= 900


def test_then_old_steps_and_one_note_says_so() -> None:
    messages = conversation("first", *([[100]] * 40), "last", [100])
    kept, size, _ = Compactor(1000).fit(messages, 0)
    assert size <= 600
    assert kept[0] == user("first")
    assert kept[1]["content"].startswith("[Earlier steps were left out")
    assert [message for message in kept if message["role"] == "user"] == [user("first"), user("last")]
    assert kept[-2:] == messages[-2:]


def test_an_output_that_is_too_large_by_itself_is_left_out_even_if_it_is_the_latest() -> None:
    kept, size, _ = Compactor(1000).fit(conversation("a", [40_000]), 0)
    assert size < 1000
    assert "40000 characters" in kept[-1]["content"]


def test_what_was_left_out_stays_left_out_so_that_the_beginning_does_not_change() -> None:
    compactor, messages = Compactor(2000), conversation("a", *([[1000]] * 10))
    first, _, _ = compactor.fit(messages, 0)
    messages += step(99, [1000])
    second, size, before = compactor.fit(messages, 0)
    assert second[: len(first) - 2] == first[:-2]
    assert size == before


def test_where_nothing_can_be_gained_nothing_is_left_out() -> None:
    messages = conversation("x" * 400, [0], "y" * 400)
    assert Compactor(100).fit(messages, 0) == (messages, size_of(messages), size_of(messages))


@given(
    parts=st.lists(st.text(max_size=60) | st.lists(st.integers(0, 3000), max_size=3), min_size=1, max_size=30),
    budget=st.integers(100, 5000),
)
def test_calls_and_results_stay_together_and_the_person_is_heard(parts: list[str | list[int]], budget: int) -> None:
    messages, compactor = conversation(*parts), Compactor(budget)
    for end in range(1, len(messages) + 1):
        if end < len(messages) and messages[end]["role"] == "tool":
            continue
        kept, size, before = compactor.fit(messages[:end], 0)
        assert (size, size <= before) == (size_of(kept), True)
        assert [m for m in kept if m["role"] == "user"] == [m for m in messages[:end] if m["role"] == "user"]
        made = [call["id"] for message in kept for call in message.get("tool_calls", ())]
        assert [message["tool_call_id"] for message in kept if message["role"] == "tool"] == made


def with_pictures(*counts: int) -> list[Message]:
    messages = conversation("look", *([[10]] * len(counts)))
    found = [message for message in messages if message["role"] == "tool"]
    for number, (message, count) in enumerate(zip(found, counts, strict=True)):
        stored = StoredImage(
            media_type="image/png", width=900, height=750, name=f"{number}.png", sha256="0" * 64, size=1
        )
        if count:
            message["images"] = (stored,) * count
    return messages


def test_pictures_count_as_tokens() -> None:
    assert tokens_of({"role": "tool", "content": "", "images": with_pictures(1)[-1]["images"]}) == 4 + 900


def test_old_pictures_go_before_outputs_and_the_latest_stays() -> None:
    messages = with_pictures(1, 1, 1)
    messages[2]["content"] = "x" * 1000
    kept, size, before = Compactor(2500).fit(messages, 0)
    assert before > 2500 >= size
    assert [len(message.get("images", ())) for message in kept if message["role"] == "tool"] == [0, 0, 1]
    assert kept[2]["content"].startswith("x" * 1000)
    assert kept[2]["content"].endswith("[Left out to save space: 0.png (900 × 750); read it again if you need it]")


def test_one_request_has_a_limited_number_of_pictures() -> None:
    messages = with_pictures(*[1] * 21)
    compactor = Compactor(10**6)
    kept, _, _ = compactor.fit(messages, 0)
    assert [len(message.get("images", ())) for message in kept if message["role"] == "tool"] == [0] * 11 + [1] * 10
    again, _, _ = compactor.fit([*messages, *step(99, [10])], 0)
    assert again[: len(kept)] == kept


def test_stored_messages_are_converted_once() -> None:
    compactor = Compactor(1000)
    stored = tuple(StoredMessage(role="user", content=text) for text in ("a", "b"))
    first = compactor.chat_messages(stored)
    more = (*stored, StoredMessage(role="tool", content="c", tool_call_id="1"))
    second = compactor.chat_messages(more)
    assert second == [user("a"), user("b"), {"role": "tool", "content": "c", "tool_call_id": "1"}]
    assert [one is other for one, other in zip(first, second, strict=False)] == [True, True]


def test_other_messages_are_converted_anew() -> None:
    compactor = Compactor(1000)
    compactor.chat_messages([StoredMessage(role="user", content=text) for text in ("a", "b")])
    assert compactor.chat_messages([StoredMessage(role="user", content="c")]) == [user("c")]
    assert compactor.chat_messages([StoredMessage(role="user", content=text) for text in ("d", "e", "f")]) == [
        user("d"),
        user("e"),
        user("f"),
    ]
