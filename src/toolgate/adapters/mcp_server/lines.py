"""Parses JSON-RPC messages, and creates the errors for invalid ones."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from toolgate.adapters.line_buffer import LineTooLong
from toolgate.adapters.mcp_server.duplicate_keys import duplicate_key
from toolgate.protocol.jsontext import is_unicode

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,128}")'
_HEAD = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID)
_TAIL = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\s*\}\s*$")
"""Where clients write the id of a message."""


def parse_message(line: bytes) -> types.JSONRPCMessage | None:
    """Parse the message of a line; None if it is invalid."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        return None  # a request with a null id still waits for a response
    if isinstance(message, types.JSONRPCRequest) and message.method == "tools/call" and duplicate_key(line) is not None:
        return None
    return message


def error_response(line: bytes | LineTooLong) -> types.JSONRPCError:
    """Return the error response to an invalid line."""
    if isinstance(line, LineTooLong):
        message = f"The message has {line.size} bytes; at most {line.limit} are read. Send less at a time."
        return _error(_id_of(line), types.INVALID_REQUEST, message)
    try:
        document: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        return _error(None, types.PARSE_ERROR, f"Parse error: a line is one JSON object ({reason[:200]}).")
    if not isinstance(document, dict):
        kind = "a batch" if isinstance(document, list) else type(document).__name__
        return _error(None, types.INVALID_REQUEST, f"Invalid request: a line is one JSON object, not {kind}.")
    given = document.get("id")
    duplicate = duplicate_key(line)
    request_id = given if isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)) else None
    if duplicate is not None:
        return _error(
            request_id, types.INVALID_PARAMS, f"Invalid parameters: the key {duplicate[:100]!r} occurs twice."
        )
    return _error(request_id, types.INVALID_REQUEST, f"Invalid request: {_problem(document)}.")


def _id_of(line: LineTooLong) -> str | int | None:
    found = _HEAD.search(line.start) or _TAIL.search(line.end)
    request_id: str | int | None = json.loads(found[1]) if found else None
    return request_id


def _problem(document: dict[str, Any]) -> str:
    if document.get("jsonrpc") != "2.0":
        return '"jsonrpc" must be "2.0"'
    if "method" in document and not isinstance(document["method"], str):
        return '"method" must be a string'
    if "params" in document and not isinstance(document["params"], dict):
        return '"params" must be an object'
    if not is_unicode(json.dumps(document, ensure_ascii=False)):
        return "it holds half a character (a lone surrogate)"
    return 'it needs "method" (and "id" for a response), or "id" with "result" or "error"'


def _error(request_id: str | int | None, code: int, message: str) -> types.JSONRPCError:
    if isinstance(request_id, str) and not is_unicode(request_id):
        request_id = None  # an id with half a character cannot be written back
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))
