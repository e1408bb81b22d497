"""Writes whole outputs to disk, in a form that `read_file` and `grep` can page.

The file is JSON: the envelope's own keys, and before them the list `output`. Each line of the output is one element of
the list and one line of the file, so line N of the output is line N + 2 of the file. Lines that are longer than
`read_file` shows are repeated in `long_lines`, in pieces that it shows whole.
"""

import bisect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, BinaryIO

from toolgate.protocol.envelope import ToolResponse
from toolgate.workspace.threads import Stop

LINES_BEFORE = 2
"""Lines of the file before the first line of the output."""
_SHOWN_WHOLE = 1900
"""Characters of a line, as JSON, that `read_file` shows without clipping (it clips at 2,000)."""
_PIECE = 1500
_MAX_PIECES = 1 << 20
"""Characters of long lines that are kept in pieces."""
_SLICE = 1 << 16

_PLAIN = bytes(byte for byte in range(256) if byte == 0x0A or (byte >= 0x20 and byte not in b'"\\'))
"""Bytes of UTF-8 that a JSON string holds as they are, and the line break."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where things are in the file."""

    pieces_at: int = 0
    """The line of the file at which the pieces of long lines begin."""
    pieces: tuple[tuple[int, int], ...] = ()
    """Line of the output and character, counted from 1, at which each piece begins."""

    def line_of(self, line: int, character: int) -> int:
        """The line of the file that shows this character of this line of the output."""
        index = bisect.bisect_right(self.pieces, (line, character)) - 1
        if index >= 0 and self.pieces[index][0] == line:
            return self.pieces_at + index
        return LINES_BEFORE + line


def write(file: BinaryIO, response: ToolResponse, output: str, stop: Stop) -> Layout:
    """Write the document and say where things are in it. `ValueError`: the envelope is not JSON."""
    file.write(b'{\n"output": [\n')
    number, long_lines = _write_lines(file, output, stop)
    file.write(b"\n],\n")
    pieces = _write_pieces(file, long_lines) if long_lines else ()
    _write_envelope(file, response)
    file.write(b"\n}\n")
    return Layout(pieces_at=number + LINES_BEFORE + 3, pieces=pieces)


def _write_lines(file: BinaryIO, output: str, stop: Stop) -> tuple[int, list[tuple[int, str]]]:
    """Write every line as a JSON string on a line of its own; returns their number, and the long ones with theirs."""
    number = 0
    long_lines: list[tuple[int, str]] = []
    for block in _blocks(output):
        stop.check()
        if number:
            file.write(b",\n")
        if len(block) > _SLICE:  # one line: no other block is longer
            _write_string(file, block)
            long_lines.append((number + 1, block))
            number += 1
            continue
        quoted, lines = _quoted_lines(block)
        file.write(quoted)
        if _may_have_long_line(quoted):
            long_lines += _long_lines(quoted, block, number + 1)
        number += lines
    return number, long_lines


def _blocks(output: str) -> Iterator[str]:
    """The output in parts that end where a line ends, without its `\\n`: many short lines, or a single long one."""
    start = 0
    while len(output) - start > _SLICE:
        end = output.rfind("\n", start, start + _SLICE)
        if end < 0:
            end = output.find("\n", start + _SLICE)
            if end < 0:
                break
        yield output[start:end]
        start = end + 1
    yield output[start:]


def _quoted_lines(block: str) -> tuple[bytes, int]:
    """The lines of a block as JSON strings with `,\\n` between them, and their number."""
    data = block.encode()
    if data.translate(None, _PLAIN):
        lines = block.split("\n")
        return ",\n".join(map(encode_basestring, lines)).encode(), len(lines)
    quoted = b'"' + data.replace(b"\n", b'",\n"') + b'"'
    return quoted, (len(quoted) - len(data) + 1) // 3  # three more bytes per line break, and two more quotes


def _may_have_long_line(quoted: bytes) -> bool:
    """Whether a line may be longer than `read_file` shows; looks at one line break in every 1,900 bytes only."""
    start = 0
    while len(quoted) - start > _SHOWN_WHOLE:
        start = quoted.rfind(b"\n", start, start + _SHOWN_WHOLE) + 1
        if start == 0:
            return True
    return False


def _long_lines(quoted: bytes, block: str, number: int) -> Iterator[tuple[int, str]]:
    """The lines of a block that are too long as JSON, numbered from `number`."""
    for offset, (shown, line) in enumerate(zip(quoted.decode().split(",\n"), block.split("\n"), strict=True)):
        if len(shown) > _SHOWN_WHOLE:
            yield number + offset, line


def _write_string(file: BinaryIO, text: str) -> None:
    """Write a JSON string, a slice at a time."""
    file.write(b'"')
    for start in range(0, len(text), _SLICE):
        part = text[start : start + _SLICE]
        data = part.encode()
        plain = not data.translate(None, _PLAIN)
        file.write(data.replace(b"\n", b"\\n") if plain else encode_basestring(part)[1:-1].encode())
    file.write(b'"')


def _write_pieces(file: BinaryIO, long_lines: list[tuple[int, str]]) -> tuple[tuple[int, int], ...]:
    """`{"line", "from", "text"}` of each piece, one per line; returns the offsets at which they begin."""
    begins: list[tuple[int, int]] = []
    file.write(b'"long_lines": [\n')
    for number, start, text in _pieces(long_lines):
        file.write(b",\n" if begins else b"")
        file.write(_ENCODER.encode({"line": number, "from": start, "text": text}).encode())
        begins.append((number, start))
    file.write(b"\n],\n")
    return tuple(begins)


def _pieces(long_lines: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Line, first character (counted from 1) and text of each piece."""
    left = _MAX_PIECES
    for number, line in long_lines:
        start = 0
        while start < len(line) and left > 0:
            size = _PIECE
            while len(_ENCODER.encode(line[start : start + size])) > _SHOWN_WHOLE:
                size //= 2
            yield number, start + 1, line[start : start + size]
            start += size
            left -= size


def _write_envelope(file: BinaryIO, response: ToolResponse) -> None:
    """The envelope's keys, one per line."""
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
