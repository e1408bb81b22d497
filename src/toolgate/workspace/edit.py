"""Plans exact replacements: finds them, builds the diff, and changes nothing yet."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import Diff
from toolgate.workspace.encoding import (
    SAMPLE,
    UTF_8,
    Encoding,
    binary,
    detect,
    encode_text,
    guess_legacy,
    not_text,
    surrounding_lines,
)
from toolgate.workspace.file_state import planned_state
from toolgate.workspace.find_text import Content, FileContent, LoadedContent
from toolgate.workspace.journal_entries import can_keep
from toolgate.workspace.line_ends import keep_line_ends
from toolgate.workspace.lines import LineIndex, Read
from toolgate.workspace.nearest import nearest
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.pieces import FileSpan, Piece
from toolgate.workspace.regions import Replacement, apply, describe
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.target import target_of
from toolgate.workspace.threads import Stop
from toolgate.workspace.write import Change, conflict

MAX_DIFF = 1 << 20
"""Characters of a diff that a person can see before deciding."""
MAX_FOR_SEVERAL = 32 << 20
"""Largest file in which one call makes several edits, in bytes."""
_IN_MEMORY = 1 << 18
"""Largest file that is rewritten from memory, in bytes. In larger ones, the kernel copies the unchanged parts."""
_MAX_FILE_AT_ONCE = 1 << 20
"""Largest file that is searched on the event loop, in bytes: starting a thread takes about as long."""
_SMALL_TEXT = 1 << 12
"""Most characters, of the old and the new text together, that are replaced on the event loop."""
_FEW_LINES = 50
"""Most lines of both that are compared there."""
_SMALL_FILE = 1 << 16
"""Largest file that is decoded there, in bytes."""
_MAX_MATCHES = 100_000
_MAX_LISTED = 50
_COMPARED = 8 << 20
"""Largest file that is compared as a whole to show the change, in bytes."""
_SEARCHED = 2 << 20
"""Largest file that is searched for the nearest text, in bytes."""
_NEAR = 1 << 16
_MANY = 100
"""With more replacements than these, comparing the whole file is cheaper than describing each one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One exact replacement."""

    old: str
    new: str
    replace_all: bool = False
    first_only: bool = False
    """Replace only the first match, even if there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEdit:
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


def plan_at_once(workspace: Workspace, path: str, edits: Sequence[Edit], seen_files: SeenFiles) -> PlannedEdit | None:
    """Plan an edit without waiting for the disk; None if that is more than a little work, or there is not one match."""
    texts = [text for edit in edits for text in (edit.old, edit.new)]
    if len(edits) > 1 or sum(map(len, texts)) > _SMALL_TEXT or sum(text.count("\n") for text in texts) > _FEW_LINES:
        return None
    try:
        return _plan(Stop(), workspace, path, edits, seen_files, at_once=True)
    except BlockingIOError:
        return None


def plan_edit(stop: Stop, workspace: Workspace, path: str, edits: Sequence[Edit], seen_files: SeenFiles) -> PlannedEdit:
    """Plan all edits. Raises `ToolError` if one cannot be made; then none is."""
    return _plan(stop, workspace, path, edits, seen_files, at_once=False)


def _plan(
    stop: Stop, workspace: Workspace, path: str, edits: Sequence[Edit], seen_files: SeenFiles, *, at_once: bool
) -> PlannedEdit:
    for number, edit in enumerate(edits, 1):
        _check(edit, number, len(edits))
    target = target_of(workspace, path)
    if target.missing:
        error = from_os_error(FileNotFoundError(2, ""), path)
        raise ToolError(error.code, error.message, "Check the path with 'ls', or create the file with 'write_file'.")
    with workspace.open_file(target.path, wait=not at_once) as opened:
        if seen_files.changed(target.parts, opened, wait=not at_once):
            raise conflict(path)
        size = opened.stat.st_size
        content = _content(opened, len(edits), at_once=at_once)
        sample = content.read(SAMPLE, 0)
        encoding = detect(sample, path, whole=len(sample) == size)
        if encoding is UTF_8 and not all((edit.old + edit.new).isascii() for edit in edits):
            if at_once and size > _SMALL_FILE:
                raise BlockingIOError
            encoding = _check_utf8(content, size, path)
        if at_once and encoding is not UTF_8:
            raise BlockingIOError  # most texts are UTF-8, and searching others takes longer
        diff = Diff(target.path, MAX_DIFF)
        if len(edits) == 1:
            index = workspace.line_indexes.of(opened.stat, encoding, size)
            pieces, count = _replace_one(stop, content, path, edits[0], index, diff)
        else:
            pieces, count = _replace_several(stop, content, path, edits, encoding, diff)
        read = content.data if isinstance(content, LoadedContent) else None
        before, old = planned_state(opened.fd, opened.stat, read)
        change = Change(target=target, before=before, old=old, pieces=pieces)
        return PlannedEdit(change=change, replacements=count, diff=diff, reversible=can_keep(size))


def _content(opened: OpenedFile, edits: int, *, at_once: bool) -> Content:
    size = opened.stat.st_size
    if at_once and size > _MAX_FILE_AT_ONCE:
        raise BlockingIOError
    if size <= (_IN_MEMORY if edits == 1 else MAX_FOR_SEVERAL):
        return LoadedContent(opened.read_cached(size, 0) if at_once else opened.read(size, 0), at_once=at_once)
    return FileContent(opened, at_once=at_once)


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
        raise _same_text(which)
    try:
        (edit.old + edit.new).encode()
    except UnicodeEncodeError:
        raise ToolError(
            ErrorCode.INVALID_PARAM, f"{which}the text contains a lone surrogate.", "Send valid Unicode."
        ) from None


def _replace_one(
    stop: Stop, content: Content, path: str, edit: Edit, index: LineIndex, diff: Diff
) -> tuple[tuple[Piece, ...], int]:
    size = index.end
    replacements = _find(stop, content, path, edit, index, "")
    if len(replacements) > _MANY and size <= _COMPARED:
        old = content.read(size, 0)
        new = apply(old, 0, replacements)
        _compare(diff, old, new, index.encoding)
        return (new,), len(replacements)
    describe(stop, diff, content.read, index, replacements)
    if isinstance(content, LoadedContent):
        return (apply(content.data, 0, replacements),), len(replacements)
    return tuple(_spliced(replacements, size)), len(replacements)


def _compare(diff: Diff, old: bytes, new: bytes, encoding: Encoding) -> None:
    skip = len(encoding.bom)
    diff.compare(old[skip:].decode(encoding.codec, "replace"), new[skip:].decode(encoding.codec, "replace"))


def _replace_several(
    stop: Stop, original: Content, path: str, edits: Sequence[Edit], encoding: Encoding, diff: Diff
) -> tuple[tuple[Piece, ...], int]:
    """Make the edits in memory, each on the result of the previous one."""
    if isinstance(original, FileContent):
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(path)} has {original.size} bytes; several edits in one call are made up to {MAX_FOR_SEVERAL}.",
            "Make one edit per call.",
        )
    data = original.data
    count = 0
    for number, edit in enumerate(edits, 1):
        label = f"Edit {number} of {len(edits)} (none was made): "
        replacements = _find(stop, LoadedContent(data), path, edit, LineIndex(encoding, len(data)), label)
        data = apply(data, 0, replacements)
        count += len(replacements)
    if data == original.data:
        raise ToolError(
            ErrorCode.INVALID_PARAM, "The edits cancel each other out: nothing would change.", "Leave them out."
        )
    _compare(diff, original.data, data, encoding)
    return (data,), count


def _find(stop: Stop, content: Content, path: str, edit: Edit, index: LineIndex, label: str) -> list[Replacement]:
    limit = 2 if content.at_once else _MAX_MATCHES
    if edit.first_only and not index.encoding.multibyte:
        limit = 1
    check = not edit.new.isascii()  # only then does the encoding of the rest matter
    try:
        found = content.find(stop, edit.old, index, limit, check=check)
    except UnicodeEncodeError:  # the file's encoding does not have all characters of it
        raise _not_found(content.read, path, edit, index, label) from None
    if content.at_once and len(found.spans) != 1:
        raise BlockingIOError  # to say what is near, or to show several places, takes longer
    if found.has_nul:
        raise binary(path)
    if found.damaged is not None:
        raise not_text(path, f"damaged {index.encoding.name}")
    spans = [span for span in found.spans if _is_whole(content.read, span[0], index.encoding)]
    found.spans = spans[:1] if edit.first_only else spans
    if not found.spans:
        raise _not_found(content.read, path, edit, index, label)
    if len(found.spans) > 1 and not edit.replace_all:
        raise _ambiguous(stop, content.read, path, found.spans, index, label)
    if len(found.spans) >= _MAX_MATCHES:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{label}old_string occurs {_MAX_MATCHES} times or more in {quote(path)}.",
            "Quote more of the text, or use a command such as 'sed'.",
        )
    replacements = [Replacement(a, b, _new_bytes(content.read, edit.new, a, b, index, path)) for a, b in found.spans]
    if all(content.read(one.end - one.start, one.start) == one.new for one in replacements):
        raise _same_text(label)
    return replacements


def _same_text(label: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"{label}old_string and new_string are the same: there is nothing to change.",
        "Pass a new_string that differs.",
    )


def _check_utf8(content: Content, size: int, path: str) -> Encoding:
    """Return the encoding of a file that begins like UTF-8, after a look at all of it, unless it is large."""
    data = content.read(min(size, _COMPARED), 0)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, len(data) == size)
    except UnicodeDecodeError as error:
        return guess_legacy(surrounding_lines(data, error.start), path)
    return UTF_8


def _is_whole(read: Read, start: int, encoding: Encoding) -> bool:
    """Whether a character begins at a position. A byte within a character may look like another character."""
    if not encoding.multibyte:
        return True
    first = max(0, start - _NEAR)
    line = read(start - first, first).rpartition(b"\n")[2]
    try:
        line.decode(encoding.codec)
    except UnicodeDecodeError:
        return False
    return True


def _new_bytes(read: Read, new: str, start: int, end: int, index: LineIndex, path: str) -> bytes:
    """Encode the new text. Its line ends become those of the lines around it, unless it has CRLF itself."""
    encoding = index.encoding
    if "\n" in new and "\r" not in new:
        old = read(end - start, start).decode(encoding.codec, "replace")
        if 0 < old.count("\r\n") < old.count("\n"):
            new = keep_line_ends(old, new)
        elif _ends_crlf(read, start, end, index):
            new = new.replace("\n", "\r\n")
    return encode_text(new, encoding, path)


def _ends_crlf(read: Read, start: int, end: int, index: LineIndex) -> bool:
    """Whether lines at a span end with CRLF: those of the span, else the next line end, else the previous one."""
    codec = index.encoding.codec
    after = read(end - start + _NEAR, start).decode(codec, "replace")
    if "\n" in after:
        return after[: after.index("\n")].endswith("\r")
    first = max(len(index.encoding.bom), start - _NEAR)
    before = read(start - first, first).decode(codec, "replace")
    return "\r\n" in before


def _spliced(replacements: list[Replacement], size: int) -> list[Piece]:
    pieces: list[Piece] = []
    position = 0
    for replacement in replacements:
        pieces += [FileSpan(position, replacement.start - position), replacement.new]
        position = replacement.end
    return [*pieces, FileSpan(position, size - position)]


def _not_found(read: Read, path: str, edit: Edit, index: LineIndex, label: str) -> ToolError:
    skip = len(index.encoding.bom)
    text = read(_SEARCHED, skip).decode(index.encoding.codec, "replace")
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


def _ambiguous(
    stop: Stop, read: Read, path: str, spans: list[tuple[int, int]], index: LineIndex, label: str
) -> ToolError:
    positions = [_position(stop, read, start, index) for start, _ in spans[:_MAX_LISTED]]
    lines = ", ".join(str(position["line"]) for position in positions)
    shown = lines + (", …" if len(spans) > _MAX_LISTED else "")
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"{label}old_string occurs {len(spans)} times in {quote(path)}, at lines {shown}; nothing was changed.",
        "Quote more of the text around the one that is meant, or set replace_all to true.",
        data={"occurrences": len(spans), "positions": positions},
    )


def _position(stop: Stop, read: Read, offset: int, index: LineIndex) -> dict[str, int]:
    """Return line and column (both from 1) of a byte offset."""
    index.extend(read, stop, offset=offset)
    line = index.line_at(read, offset) or 1
    start = max(index.find(read, line) or 0, offset - _NEAR)
    return {
        "line": line,
        "column": len(read(offset - start, start).decode(index.encoding.codec, "replace")) + 1,
    }
