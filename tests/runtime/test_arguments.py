"""From the string that a model wrote to an object: strict, and with words for everything that is wrong."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate.runtime.arguments import MAX_BYTES, MAX_DEPTH, ArgumentsError, parse_arguments


@pytest.mark.parametrize("text", ["", " ", "\n", "\t\r\n ", "{}", " {} ", "\n{\n}\n"])
def test_empty_and_blank_mean_an_empty_object(text: str) -> None:
    assert parse_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (
            '{"a": "x:y", "b": [1, {"c": null}], "d": 1.5, "e": true}',
            {"a": "x:y", "b": [1, {"c": None}], "d": 1.5, "e": True},
        ),
        ('{"a": "é😀漢"}', {"a": "é😀漢"}),
        (r'{"a": "\ud83d\ude00"}', {"a": "😀"}),
        (r'{"a": "\u0000"}', {"a": "\x00"}),
        ('{"": 1}', {"": 1}),
        ('{"a": -0}', {"a": 0}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        ('{"a": "NaN", "b": "Infinity", "c": "\\\\ud800"}', {"a": "NaN", "b": "Infinity", "c": "\\ud800"}),
    ],
)
def test_good_json(text: str, value: dict[str, Any]) -> None:
    assert parse_arguments(text) == value


@pytest.mark.parametrize("text", ["null", "[]", '"x"', "1", "true", "[{}]", " null ", "1.5", '""'])
def test_anything_but_an_object(text: str) -> None:
    with pytest.raises(ArgumentsError, match=r"^expected a JSON object$"):
        parse_arguments(text)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": }',
        '{"a": 1,}',
        "{'a': 1}",
        '{"a": 1} x',
        '{"a": 1}{"b": 2}',
        "{a: 1}",
        '{"a": 01}',
        '{"a": .5}',
        '{"a": +1}',
        '{"a": 0x1}',
        '{"a": "\n"}',
        '{"a": "\\x"}',
        '{"a": // comment\n 1}',
        "\ufeff",
        "\ufeff{}",
        "undefined",
        "True",
        "\x00",
        "\u00a0",
        '{"a": 1',
        '"unterminated',
    ],
)
def test_broken_json_says_what_is_wrong(text: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        parse_arguments(text)
    assert str(caught.value).strip()
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 1}}', '{"a": [{"b": 1, "b": 2}]}', r'{"a": 1, "\u0061": 2}']
)
def test_a_key_that_stands_twice(text: str) -> None:
    with pytest.raises(ArgumentsError, match=r"duplicate key '[ab]'"):
        parse_arguments(text)


def test_a_colon_in_a_string_does_not_hide_a_key_that_stands_twice() -> None:
    for text in ('{"a": ":", "a": 1}', '{"a:": 1, "a:": 2}', '{"a": 1, "a": ":"}'):
        with pytest.raises(ArgumentsError, match="duplicate key"):
            parse_arguments(text)


@pytest.mark.parametrize(
    "number",
    ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1E400", "1" + "0" * 400 + ".5", "[NaN]", '{"b": NaN}'],
)
def test_numbers_that_json_does_not_have(number: str) -> None:
    with pytest.raises(ArgumentsError):
        parse_arguments(f'{{"a": {number}}}')


@pytest.mark.parametrize("digits", [4301, 5000, 100_000])
@pytest.mark.parametrize("shape", ['{{"a": {}}}', '{{"a": -{}}}', '{{"a": [{}]}}'])
def test_integers_with_too_many_digits(shape: str, digits: int) -> None:
    with pytest.raises(ArgumentsError):
        parse_arguments(shape.format("9" * digits))


@pytest.mark.parametrize(
    "text",
    [
        r'{"a": "\ud800"}',
        r'{"a": "\udfff"}',
        r'{"\ud800": 1}',
        r'{"a": ["\ud83d"]}',
        r'{"a": "\ude00\ud83d"}',
        r'{"a": "\uD800"}',
    ],
)
def test_a_lone_surrogate_escape(text: str) -> None:
    with pytest.raises(ArgumentsError):
        parse_arguments(text)


def test_a_lone_surrogate_itself() -> None:
    with pytest.raises(ArgumentsError, match=r"U\+D800"):
        parse_arguments('{"a": "\ud800"}')


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 100_000])
def test_absurd_nesting(opening: str, depth: int) -> None:
    closing = "".join({"[": "]", "{": "}"}[char] for char in reversed(opening) if char in "[{")
    text = '{"a":' + opening * depth + "1" + closing * depth + "}"
    if len(text) <= MAX_BYTES:
        with pytest.raises(ArgumentsError, match=r"nested deeper|recursion"):
            parse_arguments(text)
    with pytest.raises(ArgumentsError):
        parse_arguments("{" + opening * depth)


def test_ordinary_nesting_is_fine() -> None:
    depth = MAX_DEPTH - 1
    assert parse_arguments('{"a":' + "[" * depth + "]" * depth + "}")["a"] is not None


def test_brackets_in_strings_are_not_nesting() -> None:
    assert parse_arguments(json.dumps({"a": "[{" * 500})) == {"a": "[{" * 500}


def test_the_size_is_measured_in_bytes() -> None:
    fits = '{"a": "' + "x" * (MAX_BYTES - 9) + '"}'
    assert len(fits) == MAX_BYTES
    assert len(parse_arguments(fits)["a"]) == MAX_BYTES - 9
    with pytest.raises(ArgumentsError, match="larger than 1048576 bytes"):
        parse_arguments(fits + " ")
    with pytest.raises(ArgumentsError, match="larger than 1048576 bytes"):
        parse_arguments('{"a": "' + "é" * (MAX_BYTES // 2) + '"}')


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=5), st.booleans())
def test_whatever_json_can_say_comes_through(value: dict[str, Any], ascii_only: bool) -> None:
    assert parse_arguments(json.dumps(value, ensure_ascii=ascii_only)) == value


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from('{}[]":,\\ue019aNI-+. \n\ud800é'), max_size=30))
def test_whatever_a_model_writes_is_an_object_or_has_words(text: str) -> None:
    try:
        value = parse_arguments(text)
    except ArgumentsError as error:
        assert str(error).strip()  # noqa: PT017 - either outcome is fine, each has its rule
    else:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
