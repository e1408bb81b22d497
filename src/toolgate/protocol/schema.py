"""The envelope as JSON Schema, with the rules that the model's validators enforce."""

from typing import Any

from toolgate.protocol.envelope import ToolResponse

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def envelope_schema() -> dict[str, Any]:
    """The schema of a finished envelope, as `ToolResult.response.to_dict()` gives it."""
    document = ToolResponse.model_json_schema(mode="validation")
    properties = document["properties"]
    properties["error"] = {"$ref": "#/$defs/ErrorInfo"}
    properties["stats"] |= {"properties": {"time_ms": {"type": "number", "minimum": 0}}, "required": ["time_ms"]}
    properties["context"] |= {
        "properties": {
            "cwd": {"type": "string"},
            "params_input": {},
            "path_resolved": {"type": "string"},
            "truncation_skip": {"type": "boolean"},
        },
        "required": ["cwd", "params_input"],
    }
    for field in ("stats", "context"):
        properties[field].pop("default", None)
    document["required"] = ["status", "data", "text", "stats", "context"]
    document["allOf"] = [_error_exactly_for_errors(), _success_is_whole()]
    return {"$schema": _DRAFT, **document}


def _status_is(value: str) -> dict[str, Any]:
    return {"properties": {"status": {"const": value}}, "required": ["status"]}


def _error_exactly_for_errors() -> dict[str, Any]:
    return {
        "if": _status_is("error"),
        "then": {"required": ["error"]},
        "else": {"not": {"required": ["error"]}},
    }


def _success_is_whole() -> dict[str, Any]:
    """`success` forbids what makes a result partial."""
    return {
        "if": _status_is("success"),
        "then": {
            "properties": {
                "data": {
                    "properties": {"truncated": {"not": {"const": True}}, "applied": {"not": {"const": False}}},
                    "not": {"required": ["fallback"]},
                }
            }
        },
    }
