"""Changing files."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from toolgate.errors import ToolError
from toolgate.workspace import Stop, Stopped, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.pieces import Piece
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.temporary import TEMPORARY
from toolgate.workspace.write import Change, Written, commit


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def change(workspace: Workspace, path: str, *pieces: Piece) -> Change:
    target = target_of(workspace, path)
    opened = target.open(workspace)
    before = state_of(opened)
    if opened is not None:
        opened.close()
    return Change(target=target, before=before, pieces=pieces)


def write(workspace: Workspace, path: str, *pieces: Piece) -> Written:
    return commit(Stop(), workspace, change(workspace, path, *pieces), Origin(call_id="c"))


def code_of(workspace: Workspace, planned: Change, stop: Stop | None = None) -> str:
    with pytest.raises(ToolError) as caught:
        commit(stop or Stop(), workspace, planned, Origin())
    return caught.value.code.value


def test_a_new_file_gets_the_mode_that_the_umask_leaves(workspace: Workspace) -> None:
    old = os.umask(0o027)
    try:
        write(workspace, "a/b/c.txt", b"x")
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((workspace.root / path).stat().st_mode) for path in ("a", "a/b", "a/b/c.txt")]

    assert modes == [0o750, 0o750, 0o640]


def test_a_file_keeps_its_mode_and_attributes(workspace: Workspace) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    target.chmod(0o751)
    os.setxattr(target, "user.note", b"kept")
    write(workspace, "f", b"new")

    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o751)
    assert os.getxattr(target, "user.note") == b"kept"


def test_other_names_of_a_file_keep_the_old_content(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("old")
    os.link(workspace.root / "f", workspace.root / "g")
    write(workspace, "f", b"new")

    assert ((workspace.root / "f").read_text(), (workspace.root / "g").read_text()) == ("new", "old")


def test_a_file_that_changed_after_the_plan_is_a_conflict(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("old")
    planned = change(workspace, "f", b"mine")
    (workspace.root / "f").write_text("theirs")

    assert (code_of(workspace, planned), (workspace.root / "f").read_text()) == ("CONFLICT", "theirs")


def test_a_file_that_appeared_after_the_plan_is_a_conflict(workspace: Workspace) -> None:
    planned = change(workspace, "f", b"mine")
    (workspace.root / "f").write_text("theirs")

    assert (code_of(workspace, planned), (workspace.root / "f").read_text()) == ("CONFLICT", "theirs")


def test_a_file_that_appears_in_the_last_moment_is_a_conflict(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = change(workspace, "f", b"mine")
    record = "toolgate.workspace.journal.OpenJournal.record"
    monkeypatch.setattr(record, lambda *_: (workspace.root / "f").write_text("theirs"))

    assert (code_of(workspace, planned), (workspace.root / "f").read_text()) == ("CONFLICT", "theirs")


LARGE = b"x" * (300 << 10)


@pytest.mark.parametrize("content", [b"old", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("how", ["another link", "a link less", "another mode", "an attribute"])
def test_what_leaves_the_content_as_it_is_makes_no_conflict(workspace: Workspace, how: str, content: bytes) -> None:
    target, link = workspace.root / "f", workspace.root / "link"
    target.write_bytes(content)
    link.hardlink_to(target)
    planned = change(workspace, "f", b"new")
    if how == "another link":
        (workspace.root / "other").hardlink_to(target)
    elif how == "a link less":
        link.unlink()
    elif how == "another mode":
        target.chmod(0o751)
    else:
        os.setxattr(target, "user.note", b"kept")
    mode = target.stat().st_mode
    commit(Stop(), workspace, planned, Origin())

    assert (target.read_bytes(), target.stat().st_mode) == (b"new", mode)


@pytest.mark.parametrize("how", ["touched", "replaced by the same", "written with the same"])
def test_the_same_content_with_another_time_or_inode_makes_no_conflict(workspace: Workspace, how: str) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    planned = change(workspace, "f", b"new")
    if how == "touched":
        os.utime(target, (1, 1))
    elif how == "replaced by the same":
        target.unlink()
        target.write_text("old")
    else:
        target.write_text("old")
    commit(Stop(), workspace, planned, Origin())

    assert target.read_text() == "new"


def test_another_content_of_the_same_size_and_time_is_a_conflict(workspace: Workspace) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    info = target.stat()
    planned = change(workspace, "f", b"new")
    target.write_text("OLD")
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))

    assert (code_of(workspace, planned), target.read_text()) == ("CONFLICT", "OLD")


@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_something_else_in_the_place_of_the_file_is_a_conflict_or_refused(workspace: Workspace, kind: str) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    (workspace.root / "g").write_text("old")
    planned = change(workspace, "f", b"new")
    target.unlink()
    if kind == "link":
        target.symlink_to("g")
    elif kind == "fifo":
        os.mkfifo(target)
    else:
        target.mkdir()

    assert code_of(workspace, planned) in ("CONFLICT", "INVALID_PARAM", "IS_DIRECTORY")
    assert (workspace.root / "g").read_text() == "old"


def test_a_change_while_the_new_content_is_written_is_a_conflict(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    planned = change(workspace, "f", b"new")
    prune = "toolgate.workspace.journal.Journal.prune_sometimes"
    monkeypatch.setattr(prune, lambda *_: target.write_text("OLD"))

    assert (code_of(workspace, planned), target.read_text()) == ("CONFLICT", "OLD")


def test_a_write_that_the_disk_does_not_confirm_says_that_it_took_place(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = workspace.root / "f"
    target.write_text("old")
    write(workspace, "first", b"makes the journal")
    planned = change(workspace, "f", b"new")
    fsync = os.fsync

    def broken(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(5, "Input/output error")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(ToolError, match="'f' was written, but the disk did not confirm it"):
        commit(Stop(), workspace, planned, Origin(call_id="second"))
    monkeypatch.undo()

    assert target.read_text() == "new"
    assert [one.path for one in workspace.journal.undo()] == ["f"]
    assert target.read_text() == "old"


@pytest.mark.parametrize("size", [10, 5 << 20])
def test_content_and_record_are_on_disk_before_the_file_gets_its_name(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    (workspace.root / "f").write_text("old")
    write(workspace, "first", b"makes the journal")
    planned = change(workspace, "f", b"x" * size)
    steps: list[str] = []
    fsync, fdatasync, rename = os.fsync, os.fdatasync, os.rename

    def sync(fd: int) -> None:
        fsync(fd)
        steps.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "content")

    def sync_record(fd: int) -> None:
        fdatasync(fd)
        steps.append("record")

    def name(*arguments: Any, **more: Any) -> None:
        rename(*arguments, **more)
        steps.append("name")

    for function, replacement in (("fsync", sync), ("fdatasync", sync_record), ("rename", name)):
        monkeypatch.setattr(os, function, replacement)
    commit(Stop(), workspace, planned, Origin(call_id="second"))

    assert sorted(steps[:2]) == ["content", "record"]
    assert steps[2:] == ["name", "directory"]


def test_the_disk_begins_to_write_a_small_content_before_the_journal_is_locked(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(workspace, "first", b"makes the journal")
    planned = change(workspace, "f", b"new")
    steps: list[str] = []
    fadvise, flock = os.posix_fadvise, fcntl.flock

    def begin(*arguments: Any) -> None:
        fadvise(*arguments)
        steps.append("begin")

    def lock(fd: int, operation: int) -> None:
        flock(fd, operation)
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/journal/lock"):
            steps.append("lock")

    monkeypatch.setattr(os, "posix_fadvise", begin)
    monkeypatch.setattr(fcntl, "flock", lock)
    commit(Stop(), workspace, planned, Origin(call_id="second"))

    assert steps == ["begin", "lock"]


def test_a_path_that_leads_elsewhere_after_the_plan_is_a_conflict(workspace: Workspace) -> None:
    for name in ("a", "b"):
        (workspace.root / name).mkdir()
    (workspace.root / "link").symlink_to("a")
    planned = change(workspace, "link/f", b"mine")
    (workspace.root / "link").unlink()
    (workspace.root / "link").symlink_to("b")

    assert code_of(workspace, planned) == "CONFLICT"
    assert [os.listdir(workspace.root / name) for name in ("a", "b")] == [[], []]


def test_a_stopped_call_writes_nothing_and_leaves_nothing(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("old")
    planned = change(workspace, "f", b"new")
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        commit(stop, workspace, planned, Origin())

    assert ((workspace.root / "f").read_text(), os.listdir(workspace.root)) == ("old", ["f"])


def test_directories_that_were_made_for_nothing_are_removed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toolgate.workspace.write.write_pieces", fail)

    assert code_of(workspace, change(workspace, "a/b/c", b"x")) == "EXECUTION_ERROR"
    assert os.listdir(workspace.root) == []


def test_a_failed_rename_leaves_the_old_file_and_no_temporary_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.root / "f").write_text("old")
    planned = change(workspace, "f", b"new")

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "rename", fail)

    assert code_of(workspace, planned) == "EXECUTION_ERROR"
    assert sorted(os.listdir(workspace.root)) == [".toolgate", "f"]
    assert (workspace.root / "f").read_text() == "old"


@pytest.mark.parametrize("missing", ["O_TMPFILE", "/proc"])
def test_without_unnamed_files_a_named_one_is_used(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "/proc":
        monkeypatch.setattr("toolgate.workspace.temporary._DESCRIPTORS", "/nowhere")
    else:
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY | os.O_WRONLY)  # EISDIR, as from a kernel without them
    write(workspace, "new", b"one")
    written = write(workspace, "new", b"two")

    assert written.stat == (workspace.root / "new").stat()  # before it is read, which changes its access time
    assert (workspace.root / "new").read_text() == "two"
    assert sorted(os.listdir(workspace.root)) == [".toolgate", "new"]


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_has_is_not(workspace: Workspace) -> None:
    dead, living = workspace.root / f"{TEMPORARY}dead", workspace.root / f"{TEMPORARY}living"
    dead.write_text("x")
    with living.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write(workspace, "f", b"x")

        assert sorted(os.listdir(workspace.root)) == sorted([living.name, ".toolgate", "f"])


def test_a_journal_that_cannot_be_written_stops_the_write(workspace: Workspace) -> None:
    (workspace.root / ".toolgate").symlink_to("/tmp")

    assert code_of(workspace, change(workspace, "f", b"x")) in ("ACCESS_DENIED", "NOT_FOUND")
    assert os.listdir(workspace.root) == [".toolgate"]
