"""Where the values of a JSON text are, so that one of them can be replaced without touching the others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonSpan(NamedTuple):
    """A value, and where its text is."""

    value: Any
    start: int
    end: int


def value_at(text: str, position: int, _key: str = "") -> JsonSpan:
    """Return the value at a place. Raises `ValueError`."""
    value, end = _DECODER.raw_decode(text, position)
    return JsonSpan(value, position, end)


def members(
    text: str, start: int = 0, read: Callable[[str, int, str], JsonSpan] = value_at
) -> Iterator[tuple[str, JsonSpan]]:
    """Yield the members of the object at `start`. `read` reads a value of it. Raises `ValueError`."""
    position = _after(text, start, "{")
    while text[position : position + 1] != "}":
        key, place = _DECODER.raw_decode(text, position)
        if not isinstance(key, str):
            raise ValueError("a key is not a string")
        value = read(text, _after(text, place, ":"), key)
        yield key, value
        position = _next(text, value.end, "}")


def elements(text: str, start: int) -> Iterator[JsonSpan]:
    """Yield the elements of the array at `start`. Raises `ValueError`."""
    position = _after(text, start, "[")
    while text[position : position + 1] != "]":
        value = value_at(text, position)
        yield value
        position = _next(text, value.end, "]")


def _next(text: str, position: int, closing: str) -> int:
    """Return the place of what follows a value: the closing bracket, or the next one after a comma."""
    position = _skip(text, position)
    if text[position : position + 1] == closing:
        return position
    following = _after(text, position, ",")
    if text[following : following + 1] == closing:
        raise ValueError(f"a comma before {closing!r}")
    return following


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _after(text: str, position: int, character: str) -> int:
    """Return the position after a character and the space that follows it."""
    position = _skip(text, position)
    if text[position : position + 1] != character:
        raise ValueError(f"expected {character!r} at {position}")
    return _skip(text, position + 1)
