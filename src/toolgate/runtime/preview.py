"""Cutting text: a prefix, a suffix, or both with the error lines between them, never more than the limits allow.

A line ends at `\\n` and nowhere else; a line break at the very end does not begin another line. Bytes are UTF-8, and a
cut never splits a character. A preview never ends in a line break, so splitting it at `\\n` gives exactly its lines.
Where a line ends with `\\r\\n`, both characters are shown or neither is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolgate.protocol.choices import TRUNCATIONS, load

ELISION = "[… "
"""The beginning of a line that replaces omitted lines."""
_WORDS = (
    "error",
    "exception",
    "fail",
    "fatal",
    "panic",
    "traceback",
    "critical",
    "abort",
    "segmentation fault",
    "core dumped",
    "undefined reference",
    "no such file",
    "not found",
    "permission denied",
    "err!",
)
_ERROR = re.compile(r"(?<!\bno )(?<!\b0 )(?:" + "|".join(_WORDS) + ")", re.IGNORECASE)
"""Matches text that looks like an error. It is slow, so only lines that contain one of the words are searched."""
_LOWERED = bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in range(256))
_NO_LETTERS = bytes(byte for byte in range(256) if not chr(byte | 32).isascii() or not chr(byte | 32).isalpha())
_LETTERS = tuple({word.encode().translate(None, _NO_LETTERS) for word in _WORDS})
"""The words reduced to their letters. A text that contains none of them needs no slower search."""
_MAX_ERROR_LINES = 50
"""How many error lines between the head and the tail are shown."""
_ERROR_LINE_WIDTH = 300
"""Characters that are shown of such a line."""
_SEARCHED = 4 << 20
"""Characters between the head and the tail that are searched for errors; limits the time."""
_WINDOW = 1 << 15
"""Characters searched at a time, so that other threads get their turn."""
_REGEX_REACH = 1 << 12
"""Characters of a line that the regular expression looks at."""
_MARKER = 200
"""Maximum bytes of a marker."""
_SLICE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that may be shown."""

    lines: int
    bytes: int


def count_lines(text: str) -> int:
    """How many lines there are."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def count_bytes(text: str, start: int = 0, end: int | None = None) -> int:
    """How long the text, or a part of it, is in UTF-8; large texts are not copied."""
    end = len(text) if end is None else end
    if text.isascii():
        return end - start
    return sum(len(text[at : min(end, at + _SLICE)].encode()) for at in range(start, end, _SLICE))


def cut(text: str, direction: str, limits: Limits) -> tuple[str, str]:
    """The direction in which the text was cut, and the preview: limits too small for markers keep the end."""
    if TRUNCATIONS[direction].marked and (limits.lines < 5 or limits.bytes < 10 * _MARKER):
        direction = "tail"
    function: Callable[[str, Limits], str] = load(TRUNCATIONS[direction].cut)
    return direction, function(text, limits)


def first_hidden(direction: str, shown: str, output: str) -> tuple[int, int]:
    """Line and character of the output, counted from 1, at which a reader goes on."""
    start = shown.partition(f"\n{ELISION}")[0] if TRUNCATIONS[direction].marked else shown
    if direction == "tail" or not output.startswith(start):
        return 1, 1
    if output.startswith(("\n", "\r\n"), len(start)):
        return count_lines(start) + 1, 1
    return start.count("\n") + 1, len(start) - start.rfind("\n")


def head(text: str, limits: Limits) -> str:
    """The longest beginning within the limits."""
    kept = text[: limits.bytes]
    parts = kept.split("\n", limits.lines)
    if len(parts) > limits.lines:
        kept = kept[: len(kept) - len(parts[-1]) - 1]
    if not kept.isascii():
        kept = kept.encode()[: limits.bytes].decode(errors="ignore")
    kept = kept.removesuffix("\n")
    return kept[:-1] if kept.endswith("\r") and text.startswith("\n", len(kept)) else kept


def tail(text: str, limits: Limits) -> str:
    """The longest end within the limits."""
    end = _end(text)
    kept = text[max(0, end - limits.bytes) : end]
    parts = kept.rsplit("\n", limits.lines)
    if len(parts) > limits.lines:
        kept = kept[len(parts[0]) + 1 :]
    if not kept.isascii():
        encoded = kept.encode()
        kept = encoded[max(0, len(encoded) - limits.bytes) :].decode(errors="ignore")
    return kept[1:] if kept.startswith("\n") and text.endswith("\r", 0, end - len(kept)) else kept


def _end(text: str) -> int:
    """Where the last line of the text ends, without its line break."""
    return len(text) - (2 if text.endswith("\r\n") else text.endswith("\n"))


def head_tail(text: str, limits: Limits) -> str:
    """The beginning and the end, and between them a marker and the lines that look like errors, with their numbers."""
    part = Limits(lines=limits.lines * 9 // 20, bytes=limits.bytes * 9 // 20)
    first, last = head(text, part), tail(text, part)
    start, end = len(first), _end(text) - len(last)
    line = count_lines(first)
    if text.startswith(("\n", "\r\n"), start):
        start, line = text.index("\n", start) + 1, line + 1
    if end > start and text[end - 1] == "\n":
        end -= 2 if text.endswith("\r\n", start, end) else 1
    room = Limits(lines=limits.lines - 2 * part.lines - 2, bytes=limits.bytes - 2 * part.bytes - 2 * _MARKER)
    errors = _fitting(_error_lines(text, start, end, line), room)
    counts = f"{text.count(chr(10), start, end) + 1} lines ({count_bytes(text, start, end)} bytes) from line {line} on"
    if not errors:
        return f"{first}\n{ELISION}{counts} are not shown …]\n{last}"
    opening = f"{ELISION}{counts} are not shown; these of them look like errors: …]"
    return "\n".join([first, opening, *errors, f"{ELISION}end of what is not shown …]", last])


def _fitting(lines: Iterator[str], room: Limits) -> list[str]:
    """As many of the lines as there is room for."""
    kept: list[str] = []
    left = room.bytes
    for line in lines:
        left -= count_bytes(line) + 1
        if left < 0 or len(kept) >= min(room.lines, _MAX_ERROR_LINES):
            break
        kept.append(line)
    return kept


def _error_lines(text: str, start: int, end: int, number: int) -> Iterator[str]:
    """The lines between two positions that look like errors, numbered from `number` and clipped."""
    end = min(end, start + _SEARCHED)
    counted = start
    while start < end:
        stop = text.find("\n", min(end, start + _WINDOW), end)
        stop = end if stop < 0 else stop
        window = text[start:stop]
        if _may_have_error(window) and _first_word(window) >= 0:
            number, counted = number + text.count("\n", counted, start), start
            for offset, line in enumerate(window.split("\n")):
                hit = _hit(line)
                if hit >= 0:
                    yield _numbered(number + offset, line, hit)
        start = stop + 1


def _hit(line: str) -> int:
    """Where the line looks like an error, or -1."""
    first = _first_word(line)
    if first < 0:
        return -1
    match = _ERROR.search(line, max(0, first - 8), first + _REGEX_REACH)
    return match.start() if match else -1


def _may_have_error(text: str) -> bool:
    """Whether the text may have one of the words. Only letters are compared, because much of long output is numbers."""
    letters = text.encode(errors="replace").translate(_LOWERED, _NO_LETTERS)
    return any(word in letters for word in _LETTERS)


def _first_word(text: str) -> int:
    """Where the first of the words is, in any case, or -1."""
    lowered = text.lower()
    return min((start for word in _WORDS if (start := lowered.find(word)) >= 0), default=-1)


def _numbered(number: int, line: str, hit: int) -> str:
    """`number: line`, clipped around the error."""
    begin = max(0, hit - _ERROR_LINE_WIDTH // 2) if len(line) > _ERROR_LINE_WIDTH else 0
    clipped = line[begin : begin + _ERROR_LINE_WIDTH]
    return f"{number}: {'…' if begin else ''}{clipped}{'…' if begin + len(clipped) < len(line) else ''}"
