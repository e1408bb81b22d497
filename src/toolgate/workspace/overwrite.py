"""Plans to write a whole file: builds the diff and changes nothing yet."""

import os
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import Diff
from toolgate.workspace.edit import MAX_DIFF
from toolgate.workspace.encoding import SAMPLE, UTF_8, Encoding, decode_text, detect, encode_text, require_round_trip
from toolgate.workspace.journal_entries import can_keep
from toolgate.workspace.line_ends import keep_line_ends
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.threads import Stop
from toolgate.workspace.write import Change, conflict

_COMPARED = 8 << 20
"""Largest existing file that is compared line by line, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite:
    """A planned write of a whole file."""

    change: Change
    diff: Diff
    note: str
    """What the diff cannot show."""
    created: bool
    unchanged: bool
    seen: bool
    """Whether the session has read the content that is replaced."""
    encoding: str
    reversible: bool
    """Whether undo can take it back: the journal has room for the old content."""


def plan_write(stop: Stop, workspace: Workspace, path: str, content: str, seen_files: SeenFiles) -> Overwrite:
    """Plan to write `content`. A file keeps its encoding and byte order mark."""
    target = target_of(workspace, path)
    opened = target.open(workspace)
    try:
        if seen_files.changed(target.parts, opened):
            raise conflict(path)
        diff = Diff(target.path, MAX_DIFF, created=opened is None)
        encoding, old, note = _existing(opened, path)
        if seen_files.has(target.parts) and not note and "\r" not in content:
            content = keep_line_ends(old.decode(encoding.codec, "replace"), content)
        if not note:
            require_round_trip(encoding.bom + old, encoding, path)
        data = encoding.bom + encode_text(content.removeprefix("\ufeff") if encoding.bom else content, encoding, path)
        stop.check()
        if not note:
            diff.compare(old.decode(encoding.codec, "replace"), data[len(encoding.bom) :].decode(encoding.codec))
        return Overwrite(
            change=Change(target=target, before=state_of(opened), pieces=(data,)),
            diff=diff,
            note=note,
            created=opened is None,
            unchanged=opened is not None and not note and encoding.bom + old == data,
            seen=opened is None or seen_files.has(target.parts),
            encoding=encoding.name,
            reversible=opened is None or can_keep(opened.stat.st_size),
        )
    finally:
        if opened is not None:
            opened.close()


def _existing(opened: OpenedFile | None, path: str) -> tuple[Encoding, bytes, str]:
    """Return the encoding to write in, the old text as bytes, and a note if it cannot be shown."""
    if opened is None:
        return UTF_8, b"", ""
    size = opened.stat.st_size
    sample = os.pread(opened.fd, SAMPLE, 0)
    try:
        encoding = detect(sample, path, whole=len(sample) == size)
    except ToolError as error:
        return UTF_8, b"", _no_diff(size, error)
    if size > _COMPARED:
        return encoding, b"", f"Replaces {size} bytes, which is too much to be shown as a diff."
    old = os.pread(opened.fd, size, 0)
    try:
        encoding, _ = decode_text(old, path)
    except ToolError as error:
        return UTF_8, b"", _no_diff(size, error)
    return encoding, old[len(encoding.bom) :], ""


def _no_diff(size: int, error: ToolError) -> str:
    kind = "binary content" if error.code is ErrorCode.BINARY_FILE else "text in another encoding"
    return f"Replaces {size} bytes of {kind}, which a diff cannot show."
