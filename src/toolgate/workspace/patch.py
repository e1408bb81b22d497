"""Patches as OpenAI's models write them: `*** Begin Patch`, sections of files, hunks. Parses text and opens nothing."""

import re
from collections import deque
from dataclasses import dataclass
from typing import Literal

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File:", "*** Delete File:", "*** Update File:"
_MOVE, _END_OF_FILE = "*** Move to:", "*** End of File"
_HEREDOC = re.compile(r"(?:apply_?patch\s+)?<<-?\s*(['\"]?)(\w+)\1")
_UNIFIED = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*")
"""The position in the header of a unified diff. The lines of the hunk decide where it goes, not these numbers."""
_SECTIONS = f"'{_ADD} PATH', '{_UPDATE} PATH' or '{_DELETE} PATH'"
_FORMAT = (
    f"Write '{BEGIN}', then for each file {_SECTIONS} with its lines, then '{END}'. In an update, lines that stay "
    "begin with a blank, removed ones with '-', new ones with '+'; '@@ LINE' names a line above them."
)
MAX_SECTIONS = 200
"""Most files that one patch may change."""

Mark = Literal[" ", "-", "+"]
_MARKS: dict[str, Mark] = {" ": " ", "-": "-", "+": "+"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines of a file that are next to each other, and what becomes of them."""

    number: int
    """From 1, in its section."""
    line: int
    """Where it begins in the patch, from 1."""
    anchors: tuple[str, ...]
    """Lines that occur above it, outermost first."""
    lines: tuple[tuple[Mark, str], ...]
    at_end: bool = False
    """Whether it must be at the end of the file."""

    @property
    def old(self) -> list[str]:
        """The lines that the file must have."""
        return [text for mark, text in self.lines if mark != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that it has afterwards."""
        return [text for mark, text in self.lines if mark != "-"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What a patch does to one file."""

    action: Literal["add", "delete", "update"]
    path: str
    """As it was typed."""
    line: int
    """Where it begins in the patch, from 1."""
    move_to: str | None = None
    content: str = ""
    """The text of a new file."""
    hunks: tuple[Hunk, ...] = ()


def parse_patch(text: str) -> tuple[Section, ...]:
    """Parse a patch. Raises `ToolError` with the line that is wrong."""
    lines = deque(enumerate(re.split("\r?\n", text), 1))
    _trim_blank(lines)
    _unwrap_heredoc(lines)
    if not lines or lines[0][1].strip() != BEGIN:
        raise _invalid(f"its first line must be '{BEGIN}'")
    if lines[-1][1].strip() != END or len(lines) < 2:
        raise _invalid(f"its last line must be '{END}'")
    lines.popleft()
    lines.pop()
    sections: list[Section] = []
    while lines:
        if lines[0][1].strip():
            sections.append(_section(lines))
        else:
            lines.popleft()
        if len(sections) > MAX_SECTIONS:
            raise _invalid(f"it changes more than {MAX_SECTIONS} files: split it")
    if not sections:
        raise _invalid("it changes no file")
    return tuple(sections)


_Lines = deque[tuple[int, str]]


def _trim_blank(lines: _Lines) -> None:
    while lines and not lines[0][1].strip():
        lines.popleft()
    while lines and not lines[-1][1].strip():
        lines.pop()


def _unwrap_heredoc(lines: _Lines) -> None:
    """Take away the heredoc that some models write around a patch."""
    match = _HEREDOC.fullmatch(lines[0][1].strip()) if lines else None
    if match is not None and lines[-1][1].strip() == match[2]:
        lines.popleft()
        lines.pop()
        _trim_blank(lines)


def _section(lines: _Lines) -> Section:
    number, header = lines.popleft()
    header = header.strip()
    if path := _after(_ADD, header, number):
        return Section(action="add", path=path, line=number, content=_content(lines, path))
    if path := _after(_DELETE, header, number):
        return Section(action="delete", path=path, line=number)
    if path := _after(_UPDATE, header, number):
        return _update(lines, path, number)
    raise _invalid(f"line {number}, {quote(header)}, begins no section: that is {_SECTIONS}")


def _after(marker: str, line: str, number: int) -> str:
    """The path after a marker; empty if the line does not begin with it."""
    if not line.startswith(marker):
        return ""
    path = line.removeprefix(marker).strip()
    if not path:
        raise _invalid(f"line {number}: '{marker}' needs a path")
    return path


def _content(lines: _Lines, path: str) -> str:
    content: list[str] = []
    blank = 0
    while lines and not lines[0][1].lstrip().startswith("*** "):
        number, line = lines.popleft()
        if not line.strip():
            blank = number
            continue
        if not line.startswith("+"):
            raise _invalid(f"line {number}: every line of the new file {quote(path)} begins with '+'")
        if blank:
            raise _invalid(f"line {blank} is blank: a blank line of the new file {quote(path)} is '+' alone")
        content.append(line[1:] + "\n")
    return "".join(content)


def _update(lines: _Lines, path: str, number: int) -> Section:
    target = None
    if lines and (target := _after(_MOVE, lines[0][1].strip(), lines[0][0]) or None):
        lines.popleft()
    hunks: list[Hunk] = []
    while lines and not lines[0][1].startswith("***"):
        if lines[0][1].strip():
            hunks.append(_hunk(lines, len(hunks) + 1, path))
        else:
            lines.popleft()
    if not hunks and target is None:
        raise _invalid(f"line {number}: the update of {quote(path)} has no hunk")
    return Section(action="update", path=path, line=number, move_to=target, hunks=tuple(hunks))


def _hunk(lines: _Lines, number: int, path: str) -> Hunk:
    first = lines[0][0]
    anchors: list[str] = []
    while lines and lines[0][1].startswith("@@"):
        anchor = lines.popleft()[1][2:].removeprefix(" ")
        if anchor.strip() and not _UNIFIED.fullmatch(anchor):
            anchors.append(anchor)
    body: list[tuple[Mark, str]] = []
    blank = 0
    while lines and not lines[0][1].startswith(("@@", "***")):
        where, line = lines.popleft()
        body.append(_marked(where, line, number, path))
        blank = 0 if line else blank + 1
    del body[len(body) - blank :]  # empty lines at its end only separate it from what follows
    at_end = bool(lines) and lines[0][1].strip() == _END_OF_FILE
    if at_end:
        lines.popleft()
    if not any(mark != " " for mark, _ in body):
        raise _invalid(f"line {first}: hunk {number} of {quote(path)} removes nothing and adds nothing")
    return Hunk(number=number, line=first, anchors=tuple(anchors), lines=tuple(body), at_end=at_end)


def _marked(number: int, line: str, hunk: int, path: str) -> tuple[Mark, str]:
    if not line:
        return " ", ""
    mark = _MARKS.get(line[0])
    if mark is not None:
        return mark, line[1:]
    raise _invalid(
        f"line {number}, {quote(line)}, in hunk {hunk} of {quote(path)} begins neither with ' ' nor with '-', '+' or "
        "'@@'"
    )


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_PARAM, f"This is not a valid patch: {problem}. Nothing was changed.", _FORMAT)
