"""Finds keys that occur twice in one JSON object. It does not need the SDK."""

from __future__ import annotations

import json
from typing import Any


def duplicate_key(text: bytes) -> str | None:
    """Return a key that occurs twice in one object: the person could see one value while the other one runs."""
    try:
        json.loads(text, object_pairs_hook=_reject_duplicates)
    except _DuplicateKey as error:
        return str(error)
    except (ValueError, RecursionError):
        return None  # the next parser reports the error
    return None


class _DuplicateKey(Exception):
    """A key occurs twice."""


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKey(next(key for key in keys if keys.count(key) > 1))
    return found
