"""Repair messages for invalid arguments: every offending key at once, and an example that would be valid."""

import json
import math
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

_MAX_LISTED = 50
_MAX_KEY = 100
_SAMPLES: dict[str, Any] = {"boolean": True, "object": {}, "null": None}


def problems_of(error: ValidationError, schema: dict[str, Any]) -> dict[str, str]:
    """Each offending key with what was expected there."""
    problems: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=True, include_context=False):
        key = ".".join(str(part) for part in item["loc"]) or "arguments"
        problems.setdefault(key, _problem(item, schema, listed=len(problems) < _MAX_LISTED))
    return problems


def _problem(item: Any, schema: dict[str, Any], *, listed: bool) -> str:
    expected = describe(_at(schema, item["loc"]))
    if item["type"] == "missing":
        return f"required, expected {expected}"
    if item["type"] == "extra_forbidden":
        return _unknown(str(item["loc"][-1]), _at(schema, item["loc"][:-1]), compare=listed)
    shown = json.dumps(item["input"], ensure_ascii=False, default=repr)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return f"{item['msg'][:200]}; expected {expected}, got {shown}"


def _at(schema: Any, path: Sequence[int | str]) -> dict[str, Any]:
    """The schema of a member of the arguments, by its path; empty if it is unknown."""
    for part in path:
        if not isinstance(schema, dict):
            return {}
        options = [option for option in schema.get("anyOf", ()) if isinstance(option, dict)]
        schema = next((option for option in options if "properties" in option or "items" in option), schema)
        schema = schema.get("items") if isinstance(part, int) else _mapping(schema, "properties").get(part)
    return schema if isinstance(schema, dict) else {}


def _mapping(schema: Any, key: str) -> dict[str, Any]:
    value = schema.get(key) if isinstance(schema, dict) else None
    return value if isinstance(value, dict) else {}


def unknown_keys(names: list[str], schema: dict[str, Any]) -> dict[str, str]:
    """The problem of each key that the schema does not have."""
    return {name: _unknown(name, schema, compare=index < _MAX_LISTED) for index, name in enumerate(names)}


def _unknown(name: str, schema: dict[str, Any], *, compare: bool) -> str:
    meant = likely_key(name, schema) if compare else None
    hint = "" if meant is None else f" (did you mean {meant!r}?)"
    return f"unknown key{hint}; known keys: {', '.join(_mapping(schema, 'properties')) or 'none'}"


def likely_key(name: str, schema: dict[str, Any]) -> str | None:
    """The known key that an unknown one stands for, such as `old_string` for `old`; None if none is near."""
    known = list(_mapping(schema, "properties"))
    if len(known) >= _MAX_LISTED or _mapping(schema, "additionalProperties"):  # then any key is allowed
        return None
    from difflib import get_close_matches

    words = set(name[:_MAX_KEY].lower().split("_"))
    by_words = (key for key in known if words and (words <= set(key.split("_")) or words >= set(key.split("_"))))
    return next(iter(get_close_matches(name[:_MAX_KEY], known, 1, 0.5)), None) or next(by_words, None)


def describe(schema: Any) -> str:
    """A property's type in a few words."""
    if not isinstance(schema, dict):
        return "value"
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(describe(option) for option in schema["anyOf"]))
    words = str(schema.get("type", "value"))
    lower, upper = schema.get("minimum"), schema.get("maximum")
    if lower is not None and upper is not None:
        return f"{words} from {lower} to {upper}"
    if lower is not None:
        return f"{words} of at least {lower}"
    return words if upper is None else f"{words} of at most {upper}"


def listed(problems: dict[str, str]) -> str:
    """All problems in one line."""
    words = [f"{_short(key)}: {problem}" for key, problem in list(problems.items())[:_MAX_LISTED]]
    if len(problems) > _MAX_LISTED:
        words.append(f"and {len(problems) - _MAX_LISTED} more")
    return "; ".join(words)


def repair_message(name: str, problems: str, example: str) -> str:
    """`Invalid parameters …`, all problems, and a corrected example."""
    return f"Invalid parameters for {name}: {problems}. CORRECTION: call {name} with {example}"


def _short(key: str) -> str:
    return key if len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}…"


def example_of(schema: dict[str, Any], also: Sequence[str] = ()) -> str:
    """Arguments that fit the schema: every required key, and those that are named, with a value of its type."""
    named = {key: {word: value for word, value in _at(schema, [key]).items() if word != "default"} for key in also}
    return json.dumps(_object(schema) | {key: _sample(value) for key, value in named.items()}, ensure_ascii=False)


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    properties = _mapping(schema, "properties")
    required = schema.get("required")
    return {str(key): _sample(properties.get(key)) for key in (required if isinstance(required, list) else ())}


def _sample(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "…"
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum", "anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            first = schema[key][0]
            return first if key in ("examples", "enum") else _sample(first)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return [_sample(schema.get("items"))] * int(schema.get("minItems", 0))
    if kind in ("integer", "number"):
        return _number(schema, whole=kind == "integer")
    return _SAMPLES.get(str(kind), "…" * max(1, int(schema.get("minLength", 1))))


def _number(schema: dict[str, Any], *, whole: bool) -> int | float:
    """1, or the number next to it that the bounds allow."""
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf) + 1)
    highest = schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - 1)
    number = min(max(1, lowest), highest)
    return math.ceil(number) if whole else float(number)
