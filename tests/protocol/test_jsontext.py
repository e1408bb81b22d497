"""Strict, compact JSON."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.protocol.jsontext import dump, encode, encode_result, is_unicode, scrub

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(JSON)
def test_what_json_can_say_comes_back(value: Any) -> None:
    assert json.loads(encode(value)) == value
    assert json.loads(dump(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_numbers_that_json_does_not_have_are_refused(value: Any) -> None:
    for write in (encode, dump):
        with pytest.raises(ValueError, match="JSON"):
            write(value)


@pytest.mark.parametrize("value", ["NaN", {"Infinity": "NaN"}])
def test_words_that_look_like_them_are_not(value: Any) -> None:
    assert json.loads(dump(value)) == value


@pytest.mark.parametrize("value", [b"x", {1, 2}, object(), {"a": b"x"}, {("a",): 1}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(value)


def test_a_circle_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises((RecursionError, ValueError)):
        encode(circle)


def test_surrogates_are_seen_and_replaced() -> None:
    assert (is_unicode("é😀"), is_unicode("a\ud800")) == (True, False)
    assert scrub({"\ud800": ["a\udfff", ("x",), 1]}) == {"\ufffd": ["a\ufffd", ["x"], 1]}
    assert scrub("é😀") == "é😀"


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert scrub("\ud83d\ude00").encode()


@settings(max_examples=80, deadline=None)
@given(JSON | st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=4))
def test_a_result_is_written_alike_whichever_way(value: Any) -> None:
    assert encode_result(value) == encode({"result": value})


@pytest.mark.parametrize("value", [{1: "a"}, {None: 1}, {"a": {1, 2}}, {"a": b"x"}, object()])
def test_a_result_that_is_no_json_or_has_other_keys_than_strings_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        encode_result(value)
