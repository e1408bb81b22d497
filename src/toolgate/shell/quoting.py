"""Bash's notation for values: checks, decodes and writes it."""

from __future__ import annotations

import re

SCALAR = rb"""(?:"(?:[^"\\$`]++|\\.)*+"|\$'(?:[^'\\]++|\\.)*+')"""
"""A value as `declare -p` prints it. Nothing in it is expanded: `$` and backticks are only accepted escaped."""

_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_NAMED = {b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_NAMED[b"v"] = b"\v"


def decode(literal: bytes) -> bytes:
    """Return the value of a `SCALAR`."""
    if literal.startswith(b"$'"):
        return _ESCAPE.sub(_ansi, literal[2:-1])
    return re.sub(rb"\\([\\\"$`])", rb"\1", literal[1:-1])


def _ansi(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1].isdigit():
        return bytes([int(code, 8) & 0xFF])
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    return _NAMED.get(code, code)


def quote(value: bytes) -> bytes:
    """Quote any value without NUL as a single shell word."""
    return b"'" + value.replace(b"'", b"'\\''") + b"'"


def quote_scalar(value: bytes) -> bytes:
    """Return `value` in the notation of `declare -p`."""
    return b'"' + re.sub(rb'([\\"$`])', rb"\\\1", value) + b'"'
