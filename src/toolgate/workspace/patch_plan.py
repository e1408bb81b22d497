"""Plans a patch: finds every file and every place, builds the diff, and changes nothing yet."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.diff import Diff
from toolgate.workspace.edit import MAX_DIFF, MAX_FOR_SEVERAL
from toolgate.workspace.encoding import UTF_8, Encoding, decode_text, encode_text, require_round_trip
from toolgate.workspace.file_state import ABSENT, planned_state
from toolgate.workspace.hunks import apply_hunks
from toolgate.workspace.line_ends import keep_line_ends
from toolgate.workspace.oserrors import from_os_error, quote
from toolgate.workspace.patch import Section
from toolgate.workspace.pieces import FileSpan, Piece
from toolgate.workspace.root import OpenedFile, Workspace
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.target import Target, protected_places, state_of, target_of
from toolgate.workspace.threads import Stop
from toolgate.workspace.transaction import Removal
from toolgate.workspace.write import Change, conflict

Action = Literal["added", "updated", "deleted", "moved"]
_MAX_KEPT = 16 << 20
"""Bytes of old contents that a plan keeps. Further files are compared by their hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedFile:
    """What a patch does to one file."""

    action: Action
    path: str
    """Relative to the root; for a moved file, where it goes."""
    moved_from: str = ""


@dataclass(slots=True, kw_only=True)
class PatchPlan:
    """All changes of a patch."""

    files: list[PatchedFile] = field(default_factory=list)
    changes: list[Change | Removal] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    unseen: list[str] = field(default_factory=list)
    """Existing files that are replaced as a whole and that the session has not read."""
    _diffs: list[str] = field(default_factory=list)
    _size: int = 0

    @property
    def diff(self) -> str:
        """The diffs of all files, one after another."""
        return "".join(self._diffs)

    @property
    def room(self) -> int:
        """Characters that the diff of the next file may have."""
        return max(0, MAX_DIFF - self._size)

    def show(self, text: str, diff: Diff | None = None) -> None:
        """Add what a person sees of one file."""
        self._diffs.append(text)
        self._size += len(text)
        if diff is not None:
            self.added += diff.added
            self.removed += diff.removed


def plan_patch(
    stop: Stop, workspace: Workspace, sections: Sequence[Section], seen_files: SeenFiles, cwd: str = "."
) -> PatchPlan:
    """Plan all sections. Raises `ToolError` if one cannot be made; then none is."""
    planner = _Planner(stop, workspace, seen_files, cwd)
    for path, together in planner.by_file(sections).items():
        first = together[0]
        if first.action == "add":
            planner.add(first)
        elif first.action == "delete":
            planner.delete(first)
        else:
            planner.update(planner.targets[path], together)
    if not planner.plan.changes:
        raise ToolError(ErrorCode.INVALID_PARAM, "The patch changes nothing.", "Leave it out.")
    return planner.plan


class _Planner:
    def __init__(self, stop: Stop, workspace: Workspace, seen_files: SeenFiles, cwd: str) -> None:
        self.plan = PatchPlan()
        self.targets: dict[tuple[str, ...], Target] = {}
        """Every place that the patch writes."""
        self._stop = stop
        self._workspace = workspace
        self._seen_files = seen_files
        self._cwd = cwd
        self._protected = protected_places(workspace)
        self._kept = 0

    def _target(self, path: str) -> Target:
        return target_of(self._workspace, path, self._cwd, self._protected)

    def by_file(self, sections: Sequence[Section]) -> dict[tuple[str, ...], list[Section]]:
        """Group the sections by file. Only updates may name a file more than once."""
        groups: dict[tuple[str, ...], list[Section]] = {}
        for section in sections:
            target = self._target(section.path)
            together = groups.setdefault(target.parts, [])
            together.append(section)
            if len(together) > 1 and any(one.action != "update" or one.move_to for one in together):
                raise _twice(section.path, section.line)
            self.targets[target.parts] = target
        for section in sections:
            if section.move_to is not None:
                self._reserve(section.move_to, section)
        self._require_apart()
        return groups

    def _reserve(self, path: str, section: Section) -> None:
        target = self._target(path)
        if target.parts == self._target(section.path).parts:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"Line {section.line} of the patch moves {quote(path)} to itself. Nothing was changed.",
                "Leave '*** Move to:' out.",
            )
        if target.parts in self.targets:
            raise _twice(path, section.line)
        if not target.missing:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                f"{quote(section.path)} cannot move to {quote(path)}: a file is there already. Nothing was changed.",
                "Choose another path, or delete that file first, in a patch of its own.",
            )
        self.targets[target.parts] = target

    def _require_apart(self) -> None:
        """Refuse a patch in which one path is a file and a directory."""
        for parts, target in self.targets.items():
            for length in range(1, len(parts)):
                if parts[:length] in self.targets:
                    other = self.targets[parts[:length]]
                    raise ToolError(
                        ErrorCode.INVALID_PARAM,
                        f"{quote(other.typed)} is a file in this patch, so {quote(target.typed)} cannot be below it. "
                        "Nothing was changed.",
                        "Choose another path.",
                    )

    def add(self, section: Section) -> None:
        """Create a file, or replace a whole one."""
        target = self._target(section.path)
        opened = target.open(self._workspace)
        try:
            self._require_unchanged(target, opened)
            encoding, old, note = UTF_8, "", ""
            if opened is not None:
                encoding, old, note = _shown(opened, section.path)
                if not self._seen_files.has(target.parts):
                    self.plan.unseen.append(section.path)
            content = section.content
            if not note and self._seen_files.has(target.parts) and "\r" not in content:
                content = keep_line_ends(old, content)
            data = encoding.bom + encode_text(content, encoding, section.path)
            action: Action = "added" if opened is None else "updated"
            self._write(target, opened, (data,), PatchedFile(action=action, path=target.path))
            diff = Diff(target.path, self.plan.room, created=opened is None)
            diff.compare(old, content)
            self.plan.show(note or diff.text or f"--- /dev/null\n+++ b/{target.path}\n(an empty file)\n", diff)
        finally:
            if opened is not None:
                opened.close()

    def delete(self, section: Section) -> None:
        """Remove a file."""
        target = self._target(section.path)
        self._require_existing(target, section)
        with self._workspace.open_file(target.path) as opened:
            self._require_unchanged(target, opened)
            _, old, note = _shown(opened, section.path)
            diff = Diff(target.path, self.plan.room, deleted=True)
            diff.compare(old, "")
            empty = f"--- a/{target.path}\n+++ /dev/null\n(an empty file)\n"
            self.plan.show(f"Deletes {quote(target.path)}. {note}\n" if note else diff.text or empty, diff)
            self.plan.files.append(PatchedFile(action="deleted", path=target.path))
            self.plan.changes.append(Removal(target=target, before=state_of(opened)))

    def update(self, target: Target, sections: Sequence[Section]) -> None:
        """Make the hunks of all sections of a file, in order, and move it if that is asked for."""
        first = sections[0]
        self._require_existing(target, first)
        with self._workspace.open_file(target.path) as opened:
            self._require_unchanged(target, opened)
            if first.move_to is not None and not first.hunks:
                self._move(target, first.move_to, opened, (FileSpan(0, opened.stat.st_size),), None)
                return
            encoding, old, content = _text(opened, first.path)
            new = old
            for section in sections:
                new = apply_hunks(self._stop, new, section.hunks, section.path)
            pieces = (encoding.bom + encode_text(new, encoding, first.path),)
            diff = Diff(target.path, self.plan.room)
            if first.move_to is not None:
                destination = self._target(first.move_to)
                diff.path, diff.old_path = destination.path, target.path
            diff.compare(old, new)
            if first.move_to is not None:
                self._move(target, first.move_to, opened, pieces, diff)
            elif new != old:
                self._write(target, opened, pieces, PatchedFile(action="updated", path=target.path), content=content)
                self.plan.show(diff.text, diff)

    def _move(
        self, source: Target, path: str, opened: OpenedFile, pieces: tuple[Piece, ...], diff: Diff | None
    ) -> None:
        target = self._target(path)
        moved = PatchedFile(action="moved", path=target.path, moved_from=source.path)
        self._write(target, None, pieces, moved, source)
        self.plan.changes.append(Removal(target=source, before=state_of(opened)))
        header = f"rename from {source.path}\nrename to {target.path}\n"
        self.plan.show(header + (diff.text if diff is not None else ""), diff)

    def _write(
        self,
        target: Target,
        opened: OpenedFile | None,
        pieces: tuple[Piece, ...],
        file: PatchedFile,
        moved_from: Target | None = None,
        content: bytes | None = None,
    ) -> None:
        """Plan a file's new content. `content` is the old one, if it was read."""
        self.plan.files.append(file)
        before, old = (ABSENT, None) if opened is None else planned_state(opened.fd, opened.stat, content)
        if old is not None:
            self._kept += len(old)
            old = old if self._kept <= _MAX_KEPT else None
        self.plan.changes.append(Change(target=target, before=before, old=old, pieces=pieces, moved_from=moved_from))

    def _require_existing(self, target: Target, section: Section) -> None:
        """Refuse a file that does not exist. One that is removed must be named itself, not by a link to it."""
        if target.missing:
            error = from_os_error(FileNotFoundError(2, ""), section.path)
            step = "Check the path with 'ls' or 'glob'; to create the file, use '*** Add File:'."
            raise ToolError(error.code, f"{error.message} Nothing was changed.", step)
        if section.action == "delete" or section.move_to is not None:
            relative = self._workspace.relative(section.path, self._cwd)
            above = self._workspace.locate(os.path.dirname(relative) or ".")
            if (*above.parts, os.path.basename(relative)) != target.parts:
                raise ToolError(
                    ErrorCode.INVALID_PARAM,
                    f"{quote(section.path)} is a link to {quote(target.path)}. Nothing was changed.",
                    "Name the file itself, or remove the link with a command.",
                )

    def _require_unchanged(self, target: Target, opened: OpenedFile | None) -> None:
        self._stop.check()
        if self._seen_files.changed(target.parts, opened):
            raise conflict(target.typed)


def _text(opened: OpenedFile, path: str) -> tuple[Encoding, str, bytes]:
    """Return a file's encoding, its text without the byte order mark, and its content."""
    size = opened.stat.st_size
    if size > MAX_FOR_SEVERAL:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(path)} has {size} bytes; a patch changes files of up to {MAX_FOR_SEVERAL}.",
            "Use 'edit_file', which changes files of any size.",
        )
    content = opened.read(size, 0)
    encoding, text = decode_text(content, path)
    require_round_trip(content, encoding, path)
    return encoding, text, content


def _shown(opened: OpenedFile, path: str) -> tuple[Encoding, str, str]:
    """Return the encoding and text of a file that is replaced or removed, or a note if it cannot be shown."""
    try:
        encoding, text, _ = _text(opened, path)
        return encoding, text, ""
    except ToolError as error:
        what = {ErrorCode.BINARY_FILE: "of binary content", ErrorCode.INVALID_PARAM: "(too much to be shown)"}
        kind = what.get(error.code, "of text in another encoding")
        return UTF_8, "", f"{quote(path)} had {opened.stat.st_size} bytes {kind}, which a diff cannot show."


def _twice(path: str, line: int) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"Line {line} of the patch names {quote(path)}, which another section changes, too. Nothing was changed.",
        "Put everything about a file into one section.",
    )
