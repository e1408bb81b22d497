"""Strict, compact JSON: no NaN, nothing that JSON cannot express, no spaces."""

import json
import json.encoder
from collections.abc import Callable, Iterable
from typing import Any

from pydantic_core import to_json

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)


def _chunks_of() -> Callable[[Any, int], Iterable[str]]:
    """The encoder's inner loop, created once instead of once per call; if it does not exist, the public function."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    text: Any = getattr(json.encoder, "c_encode_basestring", None)
    if make is None or text is None:
        return lambda value, _level: _ENCODER.iterencode(value)
    chunks: Callable[[Any, int], Iterable[str]] = make(
        None, _ENCODER.default, text, None, ":", ",", False, False, False
    )
    return chunks


_chunks = _chunks_of()


_SCALARS = frozenset({str, int, bool, type(None)})
"""Types that both encoders write in the same way; floats differ."""


def encode_result(value: Any) -> str:
    """`{"result": value}` as `encode` writes it, only faster; `TypeError` also for keys that are not strings."""
    if type(value) is dict and _SCALARS.issuperset(map(type, value.values())):
        "".join(value)  # raises TypeError for a key that is not a string
        return to_json({"result": value}).decode()
    return "".join(_chunks({"result": value}, 0))


def encode(value: Any) -> str:
    """`value` as JSON; raises `ValueError`, `TypeError` or `RecursionError` for what JSON cannot express."""
    return "".join(_chunks(value, 0))


def dump(value: Any) -> str:
    """`value` as JSON, faster than `encode`. It must be known to be valid JSON, NaN and infinity aside."""
    text = to_json(value).decode()
    if ("N" in text and "NaN" in text) or ("I" in text and "Infinity" in text):  # to look for one letter takes no time
        return encode(value)
    return text


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def scrub(value: Any) -> Any:
    """A copy with every lone surrogate replaced by U+FFFD."""
    if isinstance(value, str):
        return (
            value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            if not is_unicode(value)
            else value
        )
    if isinstance(value, dict):
        return {scrub(key): scrub(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item) for item in value]
    return value
