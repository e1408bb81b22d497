"""Splits input into lines, parses JSON-RPC messages, and creates the errors for invalid ones."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from pydantic import ValidationError

MAX_LINE_BYTES = 16 << 20
"""Maximum bytes of one message. The arguments of a call are also limited to 1 MiB."""
_EDGE = 512
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,128}")'
_HEAD = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID)
_TAIL = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\s*\}\s*$")


class LineBuffer:
    """Splits input into lines. Only the edges of a line that is too long are kept."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._size = 0
        """Bytes of the current line, including those that were not kept."""
        self._head = b""
        """The start of a line that was not kept whole."""

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Return the lines that are complete now."""
        lines: list[bytes | LineTooLong] = []
        while (end := data.find(b"\n")) >= 0:
            self._keep(data[:end])
            lines.append(self._take())
            data = data[end + 1 :]
        self._keep(data)
        return [line for line in lines if isinstance(line, LineTooLong) or line.strip()]

    def end(self) -> list[bytes | LineTooLong]:
        """Return the last line after the end of the input."""
        return self.feed(b"\n") if self._size else []

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        self._rest += piece
        if self._size > self._limit:
            self._head = self._head or bytes(self._rest[:_EDGE])
            del self._rest[:-_EDGE]

    def _take(self) -> bytes | LineTooLong:
        line, size, head = bytes(self._rest), self._size, self._head
        self._rest.clear()
        self._size, self._head = 0, b""
        return line if size <= self._limit else LineTooLong(head, line, size, self._limit)


class LineTooLong:
    """A message that was not kept. Its id is searched at the start and the end, where clients write it."""

    def __init__(self, head: bytes, tail: bytes, size: int, limit: int) -> None:
        found = _HEAD.search(head) or _TAIL.search(tail)
        self.id: str | int | None = json.loads(found.group(1)) if found else None
        self.message = f"The message has {size} bytes; at most {limit} are read. Send less at a time."


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


def error_response(line: bytes | LineTooLong) -> types.JSONRPCError:
    """Return the error response to an invalid line."""
    if isinstance(line, LineTooLong):
        return _error(line.id, types.INVALID_REQUEST, line.message)
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
    known = given if isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)) else None
    if duplicate is not None:
        return _error(known, types.INVALID_PARAMS, f"Invalid parameters: the key {duplicate[:100]!r} occurs twice.")
    return _error(known, types.INVALID_REQUEST, f"Invalid request: {_problem(document)}.")


def _problem(document: dict[str, Any]) -> str:
    if document.get("jsonrpc") != "2.0":
        return '"jsonrpc" must be "2.0"'
    if "method" in document and not isinstance(document["method"], str):
        return '"method" must be a string'
    if "params" in document and not isinstance(document["params"], dict):
        return '"params" must be an object'
    return 'it needs "method" (and "id" for a response), or "id" with "result" or "error"'


def _error(request_id: str | int | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))
