"""Strict, compact JSON: no NaN, nothing that JSON cannot say, no spaces."""

import json
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value: Any) -> str:
    """`value` as JSON; raises `ValueError`, `TypeError` or `RecursionError` for what JSON cannot say."""
    return _ENCODER.encode(value)


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
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not is_unicode(value) else value
    if isinstance(value, dict):
        return {scrub(key): scrub(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item) for item in value]
    return value
