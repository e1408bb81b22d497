"""Where the values of a JSON text are."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.workspace.json_spans import elements, members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5), st.sampled_from([None, 1, "\t"]))
def test_every_member_is_found_where_it_is(value: dict[str, Any], indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    found = list(members(text))
    assert {key: span.value for key, span in found} == value
    assert all(json.loads(text[span.start : span.end]) == span.value for _, span in found)


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 1, "\t"]))
def test_every_element_is_found_where_it_is(value: list[Any], indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    found = list(elements(text, 0))
    assert [span.value for span in found] == value
    assert all(json.loads(text[span.start : span.end]) == span.value for span in found)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a"}', '{"a":1,}', "{1:2}", '{"a":1 "b":2}', '{"a":'])
def test_what_is_no_object(text: str) -> None:
    with pytest.raises(ValueError):
        list(members(text))


@pytest.mark.parametrize("text", ["", "{}", "[", "[1,]", "[1 2]", "[1,,2]"])
def test_what_is_no_array(text: str) -> None:
    with pytest.raises(ValueError):
        list(elements(text, 0))
