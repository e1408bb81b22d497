"""The arguments of a call that a program makes, as the JSON that a model would have written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from pydantic import BaseModel


def arguments_json(name: str, arguments: Mapping[str, object]) -> str:
    """Return the JSON. Raises `TypeError`, naming the argument, for a value that JSON cannot express."""
    parts = [f"{json.dumps(key)}:{_one(name, key, value)}" for key, value in arguments.items()]
    return f"{{{','.join(parts)}}}"


def _one(name: str, key: str, value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_converted)
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"{name}: argument {key!r} is {value!r:.80}, which JSON cannot express ({error})"
        raise TypeError(f"{problem}: pass text, numbers, lists or tables") from None


def _converted(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value) if all(isinstance(item, str) for item in value) else list(value)
    raise TypeError(f"it contains a {type(value).__name__}")
