"""Checks a finished envelope against the rules of the protocol. `toolgate.testing` runs the checks on whole tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from toolgate.protocol.calls import ToolResult
from toolgate.protocol.choices import TRUNCATIONS
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import Status, ToolResponse
from toolgate.protocol.jsontext import encode

_KEYS = {"status", "data", "text", "error", "stats", "context"}
_TRUNCATION = {
    "direction": str,
    "max_lines": int,
    "max_bytes": int,
    "original_lines": int,
    "original_bytes": int,
    "kept_lines": int,
    "kept_bytes": int,
}
_GUIDANCE = re.compile(
    r"\b(use|try|check|read|call|ask|choose|narrow|repeat|start|continue|do|work|set|free|write|send|list|pass|tell|"
    r"increase|raise|wait|look|name|give|add|remove|replace|repair|put|quote|run|install|make|pick|leave|it may be)\b"
    r"|CORRECTION|Next:|请|可以|建议|使用|尝试|检查",
    re.IGNORECASE,
)
"""Words of instructions. A text without any of them certainly tells the model nothing to do."""


def violations(envelope: ToolResponse | ToolResult | dict[str, Any], *, root: str | None = None) -> list[str]:
    """Return every rule of the protocol that this finished envelope breaks; an empty list is a pass.

    With `root`, the envelope may not name that directory unless its own arguments did.
    """
    response = envelope.response if isinstance(envelope, ToolResult) else envelope
    document: Any = response.to_dict() if isinstance(response, ToolResponse) else response
    if not isinstance(document, dict):
        return [f"the envelope is {type(document).__name__}, not an object"]
    found = [*_top_level(document)]
    if found:
        return found
    found += [*_json(document), *_error(document), *_text(document), *_stats(document), *_context(document)]
    found += [*_status(document), *_payload(document["data"]), *_truncation(document["data"])]
    if isinstance(envelope, ToolResult):
        found += _result(envelope)
    if root is not None:
        shown = [envelope.output, envelope.message] if isinstance(envelope, ToolResult) else []
        found += _host_path(document, shown, root)
    return found


def _top_level(document: dict[str, Any]) -> Iterator[str]:
    if missing := sorted(_KEYS - {"error"} - document.keys()):
        yield f"top-level keys are missing: {', '.join(missing)}"
    if extra := sorted(map(str, document.keys() - _KEYS)):
        yield f"unknown top-level keys: {', '.join(extra)}"
    if document.get("status") not in list(Status):
        yield f"status is {document.get('status')!r}, not success, partial or error"
    for key in ("data", "stats", "context"):
        if key in document and not isinstance(document[key], dict):
            yield f"{key} is {type(document[key]).__name__}, not an object"


def _json(document: dict[str, Any]) -> Iterator[str]:
    try:
        encode(document).encode()
    except (ValueError, TypeError, RecursionError) as error:
        yield f"not strict JSON in UTF-8: {error}"


def _error(document: dict[str, Any]) -> Iterator[str]:
    error, failed = document.get("error"), document["status"] == Status.error
    if not failed:
        if error is not None:
            yield f"error is present although status is {document['status']}"
        return
    if not isinstance(error, dict) or error.keys() != {"code", "message"}:
        yield "error must be an object with code and message when status is error"
        return
    if error["code"] not in list(ErrorCode):
        yield f"error.code {error['code']!r} is not one of the codes"
    if not isinstance(error["message"], str) or not error["message"].strip():
        yield "error.message is empty"


def _text(document: dict[str, Any]) -> Iterator[str]:
    text = document["text"]
    if not isinstance(text, str) or not text.strip():
        yield "text is empty: say what happened"
    elif document["status"] != Status.success and not _GUIDANCE.search(text):
        yield f"text of a {document['status']} result names no next step"


def _stats(document: dict[str, Any]) -> Iterator[str]:
    time_ms = document["stats"].get("time_ms")
    if not _is_number(time_ms) or time_ms < 0:
        yield f"stats.time_ms is {time_ms!r}, not a number of milliseconds"
    for key, value in document["stats"].items():
        if not _is_number(value) and not isinstance(value, str):
            yield f"stats.{key} is {type(value).__name__}, not a number or a string"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _context(document: dict[str, Any]) -> Iterator[str]:
    context = document["context"]
    for key in ("cwd", "path_resolved"):
        if key == "cwd" or key in context:
            yield from _relative(f"context.{key}", context.get(key))
    if "params_input" not in context:
        yield "context.params_input is missing"
    if not isinstance(context.get("truncation_skip", False), bool):
        yield "context.truncation_skip is not a boolean"


def _relative(name: str, path: object) -> Iterator[str]:
    if not isinstance(path, str) or not path:
        yield f"{name} is {path!r}, not a path"
    elif path.startswith("/") or re.match(r"[A-Za-z]:[\\/]", path) or ".." in path.split("/"):
        yield f"{name} {path!r} is not relative to the project root"
    elif path != "." and any(part in ("", ".") for part in path.rstrip("/").split("/")):
        yield f"{name} {path!r} is not a normal POSIX path"


def _status(document: dict[str, Any]) -> Iterator[str]:
    status, data = document["status"], document["data"]
    if "truncated" in data and not isinstance(data["truncated"], bool):
        yield "data.truncated is not a boolean"
    if status != Status.success:
        return
    if data.get("truncated") is True:
        yield "data.truncated is true although status is success: use partial"
    if data.get("applied") is False:
        yield "data.applied is false although status is success: use partial"
    if "fallback" in data:
        yield "data.fallback is present although status is success: use partial"


def _payload(data: dict[str, Any]) -> Iterator[str]:
    """Check that fields which tools of one kind share have the same type."""
    if "applied" in data and not isinstance(data["applied"], bool):
        yield "data.applied is not a boolean"
    if "content" in data and not isinstance(data["content"], str):
        yield "data.content is not a string"
    for key in ("entries", "paths", "matches"):
        if key in data and not isinstance(data[key], list):
            yield f"data.{key} is not a list"
            return
    for entry in data.get("entries", []):
        if not _has(entry, path=str) or entry.get("type") not in ("file", "dir", "link"):
            yield f"an item of data.entries is not {{path, type: file|dir|link}}: {str(entry)[:80]}"
    for path in data.get("paths", []):
        yield from _relative("an item of data.paths", path)
    for match in data.get("matches", []):
        if not isinstance(match, dict) or (match.keys() & {"file", "line"} and not _has(match, file=str, line=int)):
            yield f"an item of data.matches is not {{file, line, text}}: {str(match)[:80]}"
        elif "file" in match and not isinstance(match.get("text"), str):
            yield f"an item of data.matches has no text: {str(match)[:80]}"


def _has(item: object, **types: type) -> bool:
    if not isinstance(item, dict):
        return False
    return all(isinstance(item.get(key), kind) and item[key] is not True for key, kind in types.items())


def _truncation(data: dict[str, Any]) -> Iterator[str]:
    """Check the block that the framework adds when it truncates an output."""
    if "truncation" not in data:
        return
    block = data["truncation"]
    if data.get("truncated") is not True or not isinstance(data.get("preview"), str):
        yield "data.truncation needs data.truncated = true and data.preview"
    if not _has(block, **_TRUNCATION):
        yield f"data.truncation needs {', '.join(_TRUNCATION)}"
        return
    if block["direction"] not in TRUNCATIONS:
        yield f"data.truncation.direction is {block['direction']!r}"
    for unit in ("lines", "bytes"):
        if not block[f"kept_{unit}"] <= block[f"original_{unit}"]:
            yield f"data.truncation keeps more {unit} than there were"
    if block.get("full_output_path") is not None:
        yield from _relative("data.truncation.full_output_path", block["full_output_path"])


def _result(result: ToolResult) -> Iterator[str]:
    error = result.response.error
    if result.message != (result.response.text if error is None else error.message):
        yield "message is neither the error's message nor the envelope's text"
    if error is not None and "failureCategory" not in result.extras:
        yield "extras.failureCategory is missing"
    try:
        encode(result.to_dict()).encode()
    except (ValueError, TypeError, RecursionError) as failure:
        yield f"the result is not strict JSON in UTF-8: {failure}"


def _host_path(document: dict[str, Any], shown: list[str], root: str) -> Iterator[str]:
    context = {key: value for key, value in document["context"].items() if key != "params_input"}
    given = json.dumps(document["context"].get("params_input"), default=str, ensure_ascii=False)
    written = json.dumps([{**document, "context": context}, shown], default=str, ensure_ascii=False)
    if root not in given and root in written:
        yield f"the host path {root!r} is named"
