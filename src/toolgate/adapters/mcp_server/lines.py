"""JSON-RPC messages as lines: what arrives, taken apart; and what is answered to what cannot be read."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from pydantic import ValidationError

LONGEST = 16 << 20
"""Bytes of one message at the most; the arguments of a call are limited to 1 MiB on top of that."""
_EDGE = 512
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,128}")'
_HEAD = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID)
_TAIL = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\s*\}\s*$")


class Lines:
    """Cuts what arrives into lines. Of a line that is too long only the edges are kept, never the whole."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._size = 0
        """Bytes of the present line, whether they were kept or not."""
        self._head = b""
        """The beginning of a line of which not all was kept."""

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """The lines that are whole now."""
        lines: list[bytes | LineTooLong] = []
        while (end := data.find(b"\n")) >= 0:
            self._keep(data[:end])
            lines.append(self._take())
            data = data[end + 1 :]
        self._keep(data)
        return [line for line in lines if isinstance(line, LineTooLong) or line.strip()]

    def end(self) -> list[bytes | LineTooLong]:
        """What is left when no more comes."""
        return self.feed(b"\n") if self._size else []

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        self._rest += piece
        if self._size > self._longest:
            self._head = self._head or bytes(self._rest[:_EDGE])
            del self._rest[:-_EDGE]

    def _take(self) -> bytes | LineTooLong:
        line, size, head = bytes(self._rest), self._size, self._head
        self._rest.clear()
        self._size, self._head = 0, b""
        return line if size <= self._longest else LineTooLong(head, line, size, self._longest)


class LineTooLong:
    """A message that was not kept; its id is looked for where clients write it: at the beginning or the end."""

    def __init__(self, head: bytes, tail: bytes, size: int, longest: int) -> None:
        found = _HEAD.search(head) or _TAIL.search(tail)
        self.id: str | int | None = json.loads(found.group(1)) if found else None
        self.message = f"The message has {size} bytes; at most {longest} are read. Send less at a time."


def parsed(line: bytes) -> types.JSONRPCMessage | None:
    """The message of a line; None if it is none."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        return None  # a request whose id is none: it waits for an answer
    if isinstance(message, types.JSONRPCRequest) and message.method == "tools/call" and doubled_key(line) is not None:
        return None
    return message


def doubled_key(text: bytes) -> str | None:
    """A key that stands twice in one object: what a person was shown and what is run could be two different things."""
    try:
        json.loads(text, object_pairs_hook=_once)
    except _Doubled as error:
        return str(error)
    except (ValueError, RecursionError):
        return None  # whoever reads it next says what is wrong
    return None


class _Doubled(Exception):
    """The key."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Doubled(next(key for key in keys if keys.count(key) > 1))
    return found


def refusal(line: bytes | LineTooLong) -> types.JSONRPCError:
    """The answer to a line that is no message."""
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
    doubled = doubled_key(line)
    known = given if isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)) else None
    if doubled is not None:
        return _error(known, types.INVALID_PARAMS, f"Invalid parameters: the key {doubled[:100]!r} stands twice.")
    return _error(known, types.INVALID_REQUEST, f"Invalid request: {_problem(document)}.")


def _problem(document: dict[str, Any]) -> str:
    if document.get("jsonrpc") != "2.0":
        return '"jsonrpc" must be "2.0"'
    if "method" in document and not isinstance(document["method"], str):
        return '"method" must be a string'
    if "params" in document and not isinstance(document["params"], dict):
        return '"params" must be an object'
    return 'it needs "method" (and "id" to be answered), or "id" with "result" or "error"'


def _error(request_id: str | int | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))
