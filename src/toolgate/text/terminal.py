"""Reduces terminal output to the text that stays on the screen: applies escapes, carriage returns and backspaces."""

from __future__ import annotations

import re

_PLAIN = bytes(byte for byte in range(256) if byte in b"\t\n" or (byte >= 0x20 and byte not in (0x7F, 0xC2)))
"""Bytes that need no reduction. 0xC2 is not among them: in UTF-8 it starts the control characters U+0080 to U+009F."""
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC and other strings: titles, links
    r"|[ -/]+[0-~]|[0-~])?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_ERASE_LINE = re.compile(r"\x1b\[[0-2]?K")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SILENT = str.maketrans("", "", "\x07\x0e\x0f")
REPLACEMENT = "\ufffd"
"""Replaces bytes that are not UTF-8, and control characters without a text equivalent."""


def decode_output(data: bytes) -> str:
    """Decode printed bytes and reduce them. Bytes that are not UTF-8 are replaced."""
    text = data.decode("utf-8", "replace")
    return reduce(text) if data.translate(None, _PLAIN) else text


def reduce(text: str) -> str:
    """Return the text that would stay on the screen. Newlines and tabs are kept."""
    text = _ERASE_LINE.sub(_erase, text)
    text = _ESCAPE.sub("", text).translate(_SILENT).replace("\f", "\n").replace("\v", "\n")
    text = re.sub(r"\r+\n", "\n", text)
    if "\r" in text or "\b" in text:
        text = "\n".join(_play(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))
    return _CONTROL.sub(REPLACEMENT, text)


def _erase(match: re.Match[str]) -> str:
    """Translate an erase sequence: NUL marks where to cut, and a carriage return goes to the start of the line."""
    return "\r\x00" if "2K" in match[0] else ("\x00" if match[0] in ("\x1b[K", "\x1b[0K") else "")


def _play(line: str) -> str:
    """Return what remains of a line that was partly overwritten."""
    cells: list[str] = []
    position = 0
    for piece in re.split(r"([\r\b\x00])", line):
        if piece == "\r":
            position = 0
        elif piece == "\b":
            position = max(position - 1, 0)
        elif piece == "\x00":
            del cells[position:]
        elif piece:
            cells[position : position + len(piece)] = piece
            position += len(piece)
    return "".join(cells)
