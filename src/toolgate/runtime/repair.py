"""Telling a model how to repair its arguments: every offending key at once, and a call that would fit."""

import json
from typing import Any

from pydantic import ValidationError

_SAMPLES: dict[str, Any] = {"string": "…", "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}


def problems_of(error: ValidationError, schema: dict[str, Any]) -> dict[str, str]:
    """Each offending key with what was expected there."""
    problems: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=True, include_context=False):
        key = ".".join(str(part) for part in item["loc"]) or "arguments"
        problems.setdefault(key, _problem(item, schema))
    return problems


def _problem(item: Any, schema: dict[str, Any]) -> str:
    top = str(item["loc"][0]) if item["loc"] else ""
    expected = describe(schema.get("properties", {}).get(top, {}))
    if item["type"] == "missing":
        return f"required, expected {expected}" if len(item["loc"]) == 1 else "required"
    if item["type"] == "extra_forbidden":
        return f"unknown key; known keys: {', '.join(schema.get('properties', {})) or 'none'}"
    shown = json.dumps(item["input"], ensure_ascii=False, default=repr)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return f"{item['msg'][:200]}; expected {expected}, got {shown}"


def unknown_keys(names: list[str], schema: dict[str, Any]) -> dict[str, str]:
    """The problem of each key that the schema does not have."""
    known = ", ".join(schema.get("properties", {})) or "none"
    return dict.fromkeys(names, f"unknown key; known keys: {known}")


def describe(schema: dict[str, Any]) -> str:
    """A property's type in a few words."""
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


def repair_message(name: str, problems: dict[str, str], example: str) -> str:
    """`Invalid parameters …`, all problems, and a corrected example."""
    listed = "; ".join([f"{key}: {problem}" for key, problem in problems.items()])
    return f"Invalid parameters for {name}: {listed}. CORRECTION: call {name} with {example}"


def example_of(schema: dict[str, Any]) -> str:
    """Arguments that fit the schema: every required key with a value of its type."""
    properties = schema.get("properties", {})
    return json.dumps({key: _sample(properties.get(key, {})) for key in schema.get("required", [])}, ensure_ascii=False)


def _sample(schema: dict[str, Any]) -> Any:
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("enum"):
        return schema["enum"][0]
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0])
    if "minimum" in schema:
        return schema["minimum"]
    if schema.get("type") == "object" and schema.get("required"):
        return {key: _sample(schema.get("properties", {}).get(key, {})) for key in schema["required"]}
    return _SAMPLES.get(str(schema.get("type")), "…")
