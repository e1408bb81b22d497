"""Whole outputs on disk, in a shape that `read_file` and `grep` can page.

The file is JSON: the envelope's own keys, and before them `output`, one line of the output an element and one element
a line of the file, so that line N of the output is line N + 2 of the file. Lines longer than `read_file` shows are
there a second time in `long_lines`, in pieces that it shows whole.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from toolgate.protocol.envelope import ToolResponse
from toolgate.workspace.threads import Stop

LINES_BEFORE = 2
"""Lines of the file before the first line of the output."""
_SHOWN_WHOLE = 1900
"""Characters of a line, as JSON, that `read_file` shows without clipping (it clips at 2,000)."""
_PIECE = 1500
_MOST_PIECES = 1 << 20
"""Characters of long lines that are kept in pieces."""
_SLICE = 1 << 16

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spilled:
    """Where a whole output is."""

    path: str
    """Relative to the root."""
    pieces_at: int | None
    """The line of the file at which the pieces of long lines begin, if there are any."""


def write(file: BinaryIO, response: ToolResponse, output: str, stop: Stop) -> int | None:
    """Write the document; returns the line at which the pieces begin. `ValueError`: the envelope is not JSON."""
    long_lines: list[tuple[int, str]] = []
    file.write(b'{\n"output": [\n')
    number = 0
    for number, line in enumerate(_lines(output), start=1):
        stop.check()
        if number > 1:
            file.write(b",\n")
        if _write_string(file, line) > _SHOWN_WHOLE:
            long_lines.append((number, line))
    file.write(b"\n],\n")
    if long_lines:
        file.write(b'"long_lines": [\n' + b",\n".join(_pieces(long_lines)) + b"\n],\n")
    _write_envelope(file, response)
    file.write(b"\n}\n")
    return number + LINES_BEFORE + 3 if long_lines else None


def _lines(output: str) -> Iterator[str]:
    """The output split at `\\n`, without a list of them all."""
    start = 0
    while (end := output.find("\n", start)) >= 0:
        yield output[start:end]
        start = end + 1
    yield output[start:]


def _write_string(file: BinaryIO, text: str) -> int:
    """Write a JSON string, a slice at a time; returns its length in characters."""
    length = 2
    file.write(b'"')
    for start in range(0, len(text), _SLICE):
        encoded = _ENCODER.encode(text[start : start + _SLICE])[1:-1]
        length += len(encoded)
        file.write(encoded.encode())
    file.write(b'"')
    return length


def _pieces(long_lines: list[tuple[int, str]]) -> Iterator[bytes]:
    """`{"line", "from", "text"}` of each piece, `from` counting characters from 1."""
    left = _MOST_PIECES
    for number, line in long_lines:
        start = 0
        while start < len(line) and left > 0:
            size = _PIECE
            while len(_ENCODER.encode(line[start : start + size])) > _SHOWN_WHOLE:
                size //= 2
            yield _ENCODER.encode({"line": number, "from": start + 1, "text": line[start : start + size]}).encode()
            start += size
            left -= size


def _write_envelope(file: BinaryIO, response: ToolResponse) -> None:
    """The envelope's keys, one a line."""
    for position, (key, value) in enumerate(response.to_dict().items()):
        file.write(b",\n" if position else b"")
        _write_member(file, key, value)


def _write_member(file: BinaryIO, key: str, value: Any) -> None:
    """A key and its value; strings, which may be very long, are not copied whole."""
    _write_string(file, key)
    file.write(b": ")
    if isinstance(value, str):
        _write_string(file, value)
    elif isinstance(value, dict) and all(isinstance(name, str) for name in value):
        file.write(b"{")
        for position, (name, member) in enumerate(value.items()):
            file.write(b", " if position else b"")
            _write_member(file, name, member)
        file.write(b"}")
    else:
        file.write(_ENCODER.encode(value).encode())
