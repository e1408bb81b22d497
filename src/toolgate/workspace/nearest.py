"""Finds the text that is most similar to one that was not found. It is only suggested, never applied."""

import difflib
import re
import time
from collections import Counter
from typing import Any

from toolgate.workspace.diff import alike

_MAX_LINES = 200_000
_TIMEOUT = 0.3
_SHOWN = 40
"""Most lines of the nearest span that are shown."""
_MAX_CHARACTERS = 400
"""Most characters of a line that are shown."""
_NUMBERED = re.compile(r" *\d+\t")


def nearest(text: str, old: str, new: str) -> dict[str, Any]:
    """Return the span of `text` most similar to `old`, where they first differ, and whether `new` is already there."""
    text, old, new = (value.replace("\r\n", "\n") for value in (text, old, new))
    answer: dict[str, Any] = {"new_text_present": bool(new) and new in text}
    wanted = old.removesuffix("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted):
        answer["hint"] = "old_string carries line numbers; leave out the number and the tab before each line."
        wanted = [_NUMBERED.sub("", line, count=1) for line in wanted]
    lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
    start = _best_start(lines, wanted)
    if start is None:
        return answer
    span = lines[start : start + len(wanted)]
    shown = "\n".join(map(_clipped, span[:_SHOWN])) + ("\n…" if len(span) > _SHOWN else "")
    answer |= {"text": shown, "start_line": start + 1, "end_line": start + len(span)}
    for number, expected in enumerate(wanted):
        actual = span[number] if number < len(span) else None
        if actual != expected:
            answer["first_difference"] = {"line": start + number + 1, **_difference(expected, actual)}
            break
    return answer


def _difference(expected: str, actual: str | None) -> dict[str, str | None]:
    """Return two lines, around where they first differ if they are long."""
    if actual is None:
        return {"expected": _clipped(expected), "actual": None}
    at = alike(min(len(expected), len(actual)), lambda a, b: expected[a:b] == actual[a:b])
    return {"expected": _clipped(expected, at), "actual": _clipped(actual, at)}


def _clipped(line: str, at: int = 0) -> str:
    """Return a line, or the part of a long one around a place."""
    if len(line) <= _MAX_CHARACTERS:
        return line
    start = max(0, at - _MAX_CHARACTERS // 2)
    end = start + _MAX_CHARACTERS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _best_start(lines: list[str], wanted: list[str]) -> int | None:
    """Find where most of the wanted lines are in place, ignoring indentation."""
    bare = [line.strip() for line in wanted]
    places: dict[str, list[int]] = {line: [] for line in bare if line}
    for position, line in enumerate(lines):
        places.get(line.strip(), []).append(position)
    votes: Counter[int] = Counter()
    for number, line in enumerate(bare):
        here = places.get(line, []) if line else []
        weight = 1000 // (len(here) or 1)  # a frequent line says little
        for position in here[:1000]:
            if position >= number:
                votes[position - number] += weight + 1
    if votes:
        return max(votes.items(), key=lambda item: (item[1], -item[0]))[0]
    return _most_similar(lines, bare)


def _most_similar(lines: list[str], bare: list[str]) -> int | None:
    """Find the line most similar to the longest wanted one, in bounded time."""
    number = max(range(len(bare)), key=lambda position: len(bare[position]))
    key = bare[number][:300]
    if len(key) < 3:
        return None
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(key)
    best, best_ratio = None, 0.6
    deadline = time.monotonic() + _TIMEOUT
    for position, line in enumerate(lines):
        if position % 64 == 0 and time.monotonic() > deadline:
            break
        matcher.set_seq1(line.strip()[:300])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = position, ratio
    return None if best is None else max(0, best - number)
