"""Plans the change of one cell of a notebook, and changes nothing yet."""

from __future__ import annotations

from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import Diff
from toolgate.workspace.edit import MAX_DIFF
from toolgate.workspace.encoding import SAMPLE, UTF_8, detect
from toolgate.workspace.journal_entries import can_keep
from toolgate.workspace.notebook_text import CellEdit, EditedText, NotebookText, OldNotebook
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.threads import Stop
from toolgate.workspace.write import Change, conflict

MAX_BYTES = 16 << 20
"""Bytes of the largest notebook that is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedNotebook:
    """A planned change of a notebook."""

    change: Change
    made: EditedText
    diff: Diff
    seen: bool
    """Whether the session has read what is changed."""
    reversible: bool
    """Whether undo can take it back: the journal has room for the old content."""


def plan_cell_edit(
    stop: Stop, workspace: Workspace, path: str, edit: CellEdit, seen_files: SeenFiles
) -> EditedNotebook:
    """Plan one change. Raises `ToolError` if it cannot be made."""
    target = target_of(workspace, path)
    if target.missing:
        error = from_os_error(FileNotFoundError(2, ""), path)
        raise ToolError(error.code, error.message, "Check the path with 'ls', or create the file with 'write_file'.")
    with workspace.open_file(target.path) as opened:
        if seen_files.changed(target.parts, opened):
            raise conflict(path)
        bom, text = _text(opened, path)
        stop.check()
        try:
            made = NotebookText(text).edited(edit)
        except OldNotebook:
            why = "has a format before nbformat 4, of which cells are read but not changed"
            raise _unusable(path, why) from None
        except (ValueError, RecursionError):
            raise _unusable(path, "is not a notebook: it is not a JSON object with a list of cells") from None
        diff = Diff(f"{target.path} (cell {edit.cell})", MAX_DIFF)
        diff.compare(made.old, made.new)
        return EditedNotebook(
            change=Change(target=target, before=state_of(opened), pieces=(bom + made.text.encode(),)),
            made=made,
            diff=diff,
            seen=seen_files.has(target.parts),
            reversible=can_keep(opened.stat.st_size),
        )


def _text(opened: OpenedFile, path: str) -> tuple[bytes, str]:
    """The byte order mark and the text of a notebook."""
    size = opened.stat.st_size
    if size > MAX_BYTES:
        raise _unusable(path, f"has {size:,} bytes; notebooks are changed up to {MAX_BYTES:,}")
    data = opened.read(size, 0)
    encoding = detect(data[:SAMPLE], path, whole=size <= SAMPLE)
    if encoding.codec != UTF_8.codec:
        raise _unusable(path, f"is {encoding.name}, and notebooks are UTF-8")
    try:
        return encoding.bom, data[len(encoding.bom) :].decode("utf-8")
    except UnicodeDecodeError:
        raise _unusable(path, "is not UTF-8, and notebooks are") from None


def _unusable(path: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{quote(path)} {why}. Nothing was changed.",
        "Look at it with 'read_file', or use a command such as 'jq'.",
    )
