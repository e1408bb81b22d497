"""The protocol as JSON Schema, and the part of docs/wire.md that is generated from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolgate.protocol.detail_frames import DETAIL_FRAMES
from toolgate.protocol.frames import FRAMES
from toolgate.protocol.requests import METHODS, Request
from toolgate.tools.schema import parameters_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
BEGIN = "<!-- made by scripts/wire_docs.py: begin -->"
END = "<!-- made by scripts/wire_docs.py: end -->"


def wire_schema() -> dict[str, Any]:
    """Return the schema of every request by method, and of every frame by type."""
    return {
        "$schema": _DRAFT,
        "title": "Toolgate's wire protocol",
        "requests": {method: _request(method, params) for method, params in METHODS.items()},
        "auth": {
            "description": "The first frame of a client that offered the subprotocol toolgate.first-frame.",
            "type": "object",
            "properties": {"type": {"const": "auth"}, "token": {"type": "string"}},
            "required": ["type", "token"],
            "additionalProperties": False,
        },
        "frames": {_type(frame): _schema(frame) for frame in FRAMES},
        "detail_frames": {_type(frame): _schema(frame) for frame in DETAIL_FRAMES},
    }


def wire_markdown() -> str:
    """Return the generated part of docs/wire.md."""
    schema = wire_schema()
    parts = [BEGIN, "", "## Requests", ""]
    for method, request in schema["requests"].items():
        parts += _section(method, METHODS[method], request["properties"]["params"])
    parts += ["## Frames", ""]
    for name, frame in zip(schema["frames"], FRAMES, strict=True):
        parts += _section(name, frame, schema["frames"][name])
    parts += ["## Frames with `details`", ""]
    for name, frame in zip(schema["detail_frames"], DETAIL_FRAMES, strict=True):
        parts += _section(name, frame, schema["detail_frames"][name])
    return "\n".join([*parts, END])


def _section(name: str, model: type[BaseModel], schema: dict[str, Any]) -> list[str]:
    schema_shown = {key: value for key, value in schema.items() if key != "description"}
    about = " ".join((model.__doc__ or "").split())
    return [f"### `{name}`", "", about, "", "```json", json.dumps(schema_shown, ensure_ascii=False), "```", ""]


def _request(method: str, params: type[BaseModel]) -> dict[str, Any]:
    document = _schema(Request)
    document["properties"] |= {"method": {"const": method}, "params": _schema(params)}
    if params.model_json_schema().get("required"):
        document["required"] = [*document["required"], "params"]
    return document


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema: dict[str, Any] = parameters_schema(model)
    return schema


def _type(frame: type[BaseModel]) -> str:
    found: str = frame.model_json_schema()["properties"]["type"]["const"]
    return found
