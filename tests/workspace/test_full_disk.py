"""Disks without room: a write that answers success can be taken back, and every other one changes nothing."""

import errno
import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.arena import Arena, arena_for
from tests.support.disks import PAGE, fill, small_disk
from tests.support.privileges import UIDS, run_as
from toolgate.errors import ToolError, UndoRefused
from toolgate.workspace import Stop, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.undo import undo
from toolgate.workspace.write import Change, commit

OLD = "old " * 50


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


def write(workspace: Workspace, path: str, content: str, call: str = "c") -> str:
    """`success`, or the code of the refusal."""
    try:
        target = target_of(workspace, path)
        opened = target.open(workspace)
        planned = Change(target=target, before=state_of(opened), pieces=(content.encode(),))
        if opened is not None:
            opened.close()
        commit(Stop(), workspace, planned, Origin(session_id="s", call_id=call, run=call))
    except ToolError as error:
        return error.code.value
    return "success"


def records(root: Path) -> list[str]:
    """The calls that the journal tells about; every line of it is whole."""
    text = (root / ".toolgate/journal/journal.jsonl").read_text()
    assert not text or text.endswith("\n"), "a torn record"
    return [json.loads(line)["origin"]["call_id"] for line in text.splitlines()]


def _write_until_full(root: Path, disk: Path, earlier: int, left: int) -> list[str]:
    """Write after so many earlier writes on a disk with so many free pages; the codes of the refusals.

    Every write that succeeds is recorded, and every one that does not changes nothing. Then all are taken back.
    """
    workspace = Workspace(root)
    target = root / "f.txt"
    befores: dict[str, str] = {}
    refusals: list[str] = []
    for number in range(earlier + left + 3):
        if number == earlier:
            fill(disk, left * PAGE)
        before = target.read_text()
        code = write(workspace, "f.txt", f"{number} " * 60, str(number))
        if code == "success":
            befores[str(number)] = before
        else:
            refusals.append(code)
            assert target.read_text() == before, "a refused write changed the file"
        assert records(root) == list(befores), "a write that succeeded is not recorded"
    (disk / "filler").unlink()
    for before in reversed(befores.values()):
        assert [one.path for one in undo(workspace)] == ["f.txt"]
        assert target.read_text() == before
    workspace.close()
    return refusals


@pytest.mark.parametrize("where", ["workspace", "journal"])
def test_on_a_nearly_full_disk_every_success_can_be_taken_back(arena: Arena, where: str) -> None:
    """The number of earlier writes decides how much of its last page the journal has left."""
    (arena.root / ".toolgate").mkdir()
    disk = arena.root if where == "workspace" else arena.root / ".toolgate"
    refusals: list[str] = []
    for earlier in range(1, 9):
        for left in (0, 1):
            with small_disk(disk, 64 * PAGE, arena.uid):
                (arena.root / "f.txt").write_text(OLD)
                arena.own()
                refusals += run_as(
                    arena.uid, partial(_write_until_full, root=arena.root, disk=disk, earlier=earlier, left=left)
                )

    assert set(refusals) == {"EXECUTION_ERROR"}


def test_without_room_for_the_first_record_nothing_is_written_and_later_everything_works(arena: Arena) -> None:
    with small_disk(arena.root, 16 * PAGE, arena.uid):
        (arena.root / "f.txt").write_text(OLD)
        arena.own()
        fill(arena.root, 0)
        refused = run_as(arena.uid, lambda: write(Workspace(arena.root), "f.txt", "new"))
        kept = (arena.root / "f.txt").read_text()
        (arena.root / "filler").unlink()
        written = run_as(arena.uid, lambda: write(Workspace(arena.root), "f.txt", "new"))
        run_as(arena.uid, lambda: undo(Workspace(arena.root)))

        assert (refused, kept, written) == ("EXECUTION_ERROR", OLD, "success")
        assert (arena.root / "f.txt").read_text() == OLD
        assert (arena.root / ".toolgate/journal/.gitignore").read_text() == "*\n"


def test_pruning_without_room_forgets_nothing(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.workspace.journal.MOST_ENTRIES", 40)
    with small_disk(arena.root, 64 * PAGE, arena.uid):
        arena.own()

        def prepare() -> None:
            workspace = Workspace(arena.root)
            for number in range(45):
                assert write(workspace, "f.txt", f"{number}\n", str(number)) == "success"

        run_as(arena.uid, prepare)
        fill(arena.root, PAGE)  # room for the new content, and none for another journal
        before = records(arena.root)
        images = set(os.listdir(arena.root / ".toolgate/journal/images"))
        # the first write of a new process prunes
        run_as(arena.uid, lambda: write(Workspace(arena.root), "f.txt", "x", "full"))

        assert records(arena.root)[:45] == before
        assert images <= set(os.listdir(arena.root / ".toolgate/journal/images"))
        assert sorted(os.listdir(arena.root / ".toolgate/journal")) == [".gitignore", "images", "journal.jsonl", "lock"]
        (arena.root / "filler").unlink()
        assert run_as(arena.uid, lambda: write(Workspace(arena.root), "f.txt", "y", "last")) == "success"
        assert records(arena.root)[-1] == "last"
        assert len(records(arena.root)) == 41


def test_a_copied_image_that_does_not_fit_refuses_the_write(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no hard links, the earlier content itself has to fit."""

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    with small_disk(arena.root, 64 * PAGE, arena.uid):
        (arena.root / "f.txt").write_text("old\n" * 20_000)
        arena.own()
        run_as(arena.uid, lambda: write(Workspace(arena.root), "first.txt", "makes the journal"))
        fill(arena.root, 10 * PAGE)
        images = arena.root / ".toolgate/journal/images"

        def attempt() -> str:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("toolgate.workspace.journal.os.link", no_links)
                return write(Workspace(arena.root), "f.txt", "new")

        assert run_as(arena.uid, attempt) == "EXECUTION_ERROR"
        assert (arena.root / "f.txt").read_text() == "old\n" * 20_000
        assert os.listdir(images) == []


def test_an_undo_that_could_not_be_recorded_is_completed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.txt").write_text(OLD)
    workspace = Workspace(tmp_path)

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    assert write(workspace, "f.txt", "new") == "success"
    with monkeypatch.context() as patch:
        patch.setattr("toolgate.workspace.journal.OpenJournal._append", no_room)
        patch.setattr("toolgate.workspace.undo.os.link", no_links)
        with pytest.raises(UndoRefused, match=r"'f.txt' could not be taken back: No space left on device"):
            undo(workspace)

    assert [one.action for one in undo(workspace)] == ["unchanged"]
    assert (tmp_path / "f.txt").read_text() == OLD


@pytest.mark.parametrize("call", ["write", "fsync", "fdatasync"])
def test_a_disk_that_answers_with_an_error_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "f.txt").write_text(OLD)
    workspace = Workspace(tmp_path)
    assert write(workspace, "first.txt", "makes the journal", "first") == "success"

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, broken)
    assert write(workspace, "f.txt", "new") == "EXECUTION_ERROR"
    monkeypatch.undo()

    assert (tmp_path / "f.txt").read_text() == OLD
    assert records(tmp_path) == ["first"]
