"""Plans exact replacements: finds them, builds the diff, and changes nothing yet."""

import codecs
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import Diff
from toolgate.workspace.encoding import (
    SAMPLE,
    UTF_8,
    Encoding,
    around,
    binary,
    detect,
    legacy,
    not_text,
    written,
)
from toolgate.workspace.find_text import find_text
from toolgate.workspace.journal_entries import can_keep
from toolgate.workspace.line_ends import keep_line_ends
from toolgate.workspace.lines import LineIndex
from toolgate.workspace.nearest import nearest
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.pieces import Piece, Span, write_all
from toolgate.workspace.regions import Replacement, apply, describe
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.threads import Stop
from toolgate.workspace.write import Change, conflict

LONGEST_DIFF = 1 << 20
"""Characters of a diff that a person can see before deciding."""
LARGEST_FOR_SEVERAL = 32 << 20
"""Largest file in which one call makes several edits, in bytes."""
_IN_MEMORY = 1 << 18
"""Largest file that is rewritten from memory, in bytes. In larger ones, the kernel copies the unchanged parts."""
_MOST_MATCHES = 100_000
_MOST_LISTED = 50
_COMPARED = 8 << 20
"""Largest file that is compared as a whole to show the change, in bytes."""
_SEARCHED = 2 << 20
"""Largest file that is searched for the nearest text, in bytes."""
_NEAR = 1 << 16
_MANY = 100
"""Number of replacements from which comparing the whole file is cheaper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One exact replacement."""

    old: str
    new: str
    replace_all: bool = False
    first_only: bool = False
    """Replace only the first match, even if there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A planned edit."""

    change: Change
    replacements: int
    diff: Diff
    reversible: bool
    """Whether undo can take it back: the journal has room for the old content."""

    @property
    def replacements_text(self) -> str:
        """How many replacements it makes, in words."""
        return "1 replacement" if self.replacements == 1 else f"{self.replacements} replacements"


def plan_edit(stop: Stop, workspace: Workspace, path: str, edits: Sequence[Edit], known: SeenFiles) -> Edited:
    """Plan all edits. Raises `ToolError` if one cannot be made; then none is."""
    for number, edit in enumerate(edits, 1):
        _check(edit, number, len(edits))
    target = target_of(workspace, path)
    if target.missing:
        error = from_os_error(FileNotFoundError(2, ""), path)
        raise ToolError(error.code, error.message, "Check the path with 'ls', or create the file with 'write_file'.")
    with workspace.open_file(target.path) as opened:
        if known.changed(target.parts, opened):
            raise conflict(path)
        sample = os.pread(opened.fd, SAMPLE, 0)
        encoding = detect(sample, path, whole=len(sample) == opened.stat.st_size)
        if encoding is UTF_8 and not all((edit.old + edit.new).isascii() for edit in edits):
            encoding = _looked_through(opened, path)
        diff = Diff(target.path, LONGEST_DIFF)
        if len(edits) == 1:
            index = workspace.line_indexes.of(opened.stat, encoding, opened.stat.st_size)
            pieces, count = _one(stop, opened, path, edits[0], index, diff)
        else:
            pieces, count = _several(stop, opened, path, edits, encoding, diff)
        change = Change(target=target, before=state_of(opened), pieces=pieces)
        return Edited(change=change, replacements=count, diff=diff, reversible=can_keep(opened.stat.st_size))


def _check(edit: Edit, number: int, total: int) -> None:
    which = f"Edit {number}: " if total > 1 else ""
    if not edit.old:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{which}old_string is empty.",
            "Quote the text to be replaced. To add text, quote the line beside it in both strings; "
            "to create or replace a whole file, use 'write_file'.",
        )
    if edit.old == edit.new:
        raise _pointless(which)
    try:
        (edit.old + edit.new).encode()
    except UnicodeEncodeError:
        raise ToolError(
            ErrorCode.INVALID_PARAM, f"{which}the text contains a lone surrogate.", "Send valid Unicode."
        ) from None


def _one(
    stop: Stop, opened: OpenedFile, path: str, edit: Edit, index: LineIndex, diff: Diff
) -> tuple[tuple[Piece, ...], int]:
    size = opened.stat.st_size
    replacements = _find(stop, opened.fd, path, edit, index, "")
    if len(replacements) > _MANY and size <= _COMPARED:
        old = os.pread(opened.fd, size, 0)
        new = apply(old, 0, replacements)
        _compare(diff, old, new, index.encoding)
        return (new,), len(replacements)
    describe(stop, diff, opened.fd, index, replacements)
    if size <= _IN_MEMORY:
        return (apply(os.pread(opened.fd, size, 0), 0, replacements),), len(replacements)
    return tuple(_spliced(replacements, size)), len(replacements)


def _compare(diff: Diff, old: bytes, new: bytes, encoding: Encoding) -> None:
    skip = len(encoding.bom)
    diff.compare(old[skip:].decode(encoding.codec, "replace"), new[skip:].decode(encoding.codec, "replace"))


def _several(
    stop: Stop, opened: OpenedFile, path: str, edits: Sequence[Edit], encoding: Encoding, diff: Diff
) -> tuple[tuple[Piece, ...], int]:
    """Make the edits in memory, each on the result of the previous one."""
    size = opened.stat.st_size
    if size > LARGEST_FOR_SEVERAL:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(path)} has {size} bytes; several edits in one call are made up to {LARGEST_FOR_SEVERAL}.",
            "Make one edit a call.",
        )
    original = content = os.pread(opened.fd, size, 0)
    count = 0
    for number, edit in enumerate(edits, 1):
        fd = os.memfd_create("edit")
        try:
            write_all(fd, content)
            label = f"Edit {number} of {len(edits)} (none was made): "
            replacements = _find(stop, fd, path, edit, LineIndex(encoding, len(content)), label)
        finally:
            os.close(fd)
        content = apply(content, 0, replacements)
        count += len(replacements)
    if content == original:
        raise ToolError(
            ErrorCode.INVALID_PARAM, "The edits cancel each other out: nothing would change.", "Leave them out."
        )
    _compare(diff, original, content, encoding)
    return (content,), count


def _find(stop: Stop, fd: int, path: str, edit: Edit, index: LineIndex, label: str) -> list[Replacement]:
    most = 1 if edit.first_only and not index.encoding.multibyte else _MOST_MATCHES
    check = not edit.new.isascii()  # only then does the encoding of the rest matter
    try:
        found = find_text(stop, fd, index.end, edit.old, index.encoding, most, check=check)
    except UnicodeEncodeError:  # the file's encoding does not have all characters of it
        raise _missed(fd, path, edit, index, label) from None
    if found.has_nul:
        raise binary(path)
    if found.damaged is not None:
        raise not_text(path, f"damaged {index.encoding.name}")
    spans = [span for span in found.spans if _is_whole(fd, span[0], index.encoding)]
    found.spans = spans[:1] if edit.first_only else spans
    if not found.spans:
        raise _missed(fd, path, edit, index, label)
    if len(found.spans) > 1 and not edit.replace_all:
        raise _ambiguous(stop, fd, path, found.spans, index, label)
    if len(found.spans) >= _MOST_MATCHES:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{label}old_string occurs {_MOST_MATCHES} times or more in {quote(path)}.",
            "Quote more of the text, or use a command such as 'sed'.",
        )
    replacements = [Replacement(a, b, _adapted(fd, edit.new, a, b, index, path)) for a, b in found.spans]
    if all(os.pread(fd, one.end - one.start, one.start) == one.new for one in replacements):
        raise _pointless(label)
    return replacements


def _pointless(label: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"{label}old_string and new_string are the same: there is nothing to change.",
        "Pass a new_string that differs.",
    )


def _looked_through(opened: OpenedFile, path: str) -> Encoding:
    """Return the encoding of a file that begins like UTF-8, after a look at all of it, unless it is large."""
    data = os.pread(opened.fd, min(opened.stat.st_size, _COMPARED), 0)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, len(data) == opened.stat.st_size)
    except UnicodeDecodeError as error:
        return legacy(around(data, error.start), path)
    return UTF_8


def _is_whole(fd: int, start: int, encoding: Encoding) -> bool:
    """Whether a character begins at a place; a byte of one may look like another one."""
    if not encoding.multibyte:
        return True
    first = max(0, start - _NEAR)
    line = os.pread(fd, start - first, first).rpartition(b"\n")[2]
    try:
        line.decode(encoding.codec)
    except UnicodeDecodeError:
        return False
    return True


def _adapted(fd: int, new: str, start: int, end: int, index: LineIndex, path: str) -> bytes:
    """Return the new text with the line ends of its place, unless it has its own."""
    encoding = index.encoding
    if "\n" in new and "\r" not in new:
        old = os.pread(fd, end - start, start).decode(encoding.codec, "replace")
        if 0 < old.count("\r\n") < old.count("\n"):
            new = keep_line_ends(old, new)
        elif _ends_crlf(fd, start, end, index):
            new = new.replace("\n", "\r\n")
    return written(new, encoding, path)


def _ends_crlf(fd: int, start: int, end: int, index: LineIndex) -> bool:
    """Whether lines at a span end with CRLF: those of the span, else the next line end, else the previous one."""
    codec = index.encoding.codec
    behind = os.pread(fd, end - start + _NEAR, start).decode(codec, "replace")
    if "\n" in behind:
        return behind[: behind.index("\n")].endswith("\r")
    first = max(len(index.encoding.bom), start - _NEAR)
    before = os.pread(fd, start - first, first).decode(codec, "replace")
    return "\r\n" in before


def _spliced(replacements: list[Replacement], size: int) -> list[Piece]:
    pieces: list[Piece] = []
    position = 0
    for replacement in replacements:
        pieces += [Span(position, replacement.start - position), replacement.new]
        position = replacement.end
    return [*pieces, Span(position, size - position)]


def _missed(fd: int, path: str, edit: Edit, index: LineIndex, label: str) -> ToolError:
    skip = len(index.encoding.bom)
    text = os.pread(fd, _SEARCHED, skip).decode(index.encoding.codec, "replace")
    near = nearest(text, edit.old, edit.new)
    message = f"{label}old_string was not found in {quote(path)}; nothing was changed."
    if near["new_text_present"]:
        message += " new_string is already there."
    if "hint" in near:
        return ToolError(ErrorCode.INVALID_PARAM, message, near["hint"], data={"nearest": near})
    if "start_line" in near:
        message += f" The nearest text is at lines {near['start_line']}-{near['end_line']}."
        step = "Compare data.nearest with old_string and quote the file exactly, including spaces and indentation."
    else:
        step = "Read the file with 'read_file' and quote the text exactly."
    return ToolError(ErrorCode.INVALID_PARAM, message, step, data={"nearest": near})


def _ambiguous(stop: Stop, fd: int, path: str, spans: list[tuple[int, int]], index: LineIndex, label: str) -> ToolError:
    positions = [_position(stop, fd, start, index) for start, _ in spans[:_MOST_LISTED]]
    lines = ", ".join(str(position["line"]) for position in positions)
    shown = lines + (", …" if len(spans) > _MOST_LISTED else "")
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"{label}old_string occurs {len(spans)} times in {quote(path)}, at lines {shown}; nothing was changed.",
        "Quote more of the text around the one that is meant, or set replace_all to true.",
        data={"occurrences": len(spans), "positions": positions},
    )


def _position(stop: Stop, fd: int, offset: int, index: LineIndex) -> dict[str, int]:
    """Return line and column (both from 1) of a byte offset."""
    read = partial(os.pread, fd)
    index.extend(read, stop, offset=offset)
    line = index.line_at(read, offset) or 1
    start = max(index.find(read, line) or 0, offset - _NEAR)
    return {
        "line": line,
        "column": len(os.pread(fd, offset - start, start).decode(index.encoding.codec, "replace")) + 1,
    }
