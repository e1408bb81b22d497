"""Several files as one change: a failure or a kill in the middle loses nothing."""

import errno
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from toolgate.errors import ToolError, UndoRefused
from toolgate.workspace import Stop, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.threads import Stopped
from toolgate.workspace.transaction import Removal, commit_all
from toolgate.workspace.write import Change, StagedChange, Written

BEFORE = {"a": "a\n", "b": "b\n", "c": "c\n"}
AFTER = {"a": "A\n", "new/d": "D\n", "c": "C\n"}
ORIGIN = Origin(session_id="s", turn_id="t", call_id="c", tool="apply_patch", run="1")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for name, text in BEFORE.items():
        (tmp_path / name).write_text(text)
    return Workspace(tmp_path)


def content(workspace: Workspace) -> dict[str, str]:
    found = (path for path in workspace.root.rglob("*") if path.is_file() and ".toolgate" not in path.parts)
    return {str(path.relative_to(workspace.root)): path.read_text() for path in found}


def changes(workspace: Workspace) -> list[Change | Removal]:
    """Change a, remove b, add new/d, change c."""
    planned: list[Change | Removal] = []
    for path, text in [("a", "A\n"), ("b", None), ("new/d", "D\n"), ("c", "C\n")]:
        target = target_of(workspace, path)
        opened = target.open(workspace)
        before = state_of(opened)
        if opened is not None:
            opened.close()
        if text is None:
            planned.append(Removal(target=target, before=before))
        else:
            planned.append(Change(target=target, before=before, pieces=(text.encode(),)))
    return planned


def test_all_changes_are_made_and_one_undo_takes_them_back(workspace: Workspace) -> None:
    written = commit_all(Stop(), workspace, changes(workspace), ORIGIN)

    assert [None if one is None else "/".join(one.parts) for one in written] == ["a", None, "new/d", "c"]
    assert content(workspace) == AFTER
    workspace.journal.undo("call")
    assert content(workspace) == BEFORE
    assert not (workspace.root / "new").exists()


@pytest.mark.parametrize("failing", ["a", "new/d", "c"])
def test_a_failure_in_the_middle_takes_back_what_was_done(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    publish = StagedChange.publish

    def fail(self: StagedChange) -> Written:
        if self.typed == failing:
            raise OSError(28, "No space left on device")
        return publish(self)

    monkeypatch.setattr(StagedChange, "publish", fail)
    with pytest.raises(ToolError, match="no space left"):
        commit_all(Stop(), workspace, changes(workspace), ORIGIN)

    assert content(workspace) == BEFORE
    assert not (workspace.root / "new").exists()
    assert workspace.journal.undo("call") == []


@pytest.mark.parametrize("done", range(5))
def test_a_kill_in_the_middle_is_taken_back_by_undo(workspace: Workspace, done: int) -> None:
    """The writer is killed after so many of the four changes."""
    child = os.fork()
    if child == 0:
        try:
            _die_after(done)
            commit_all(Stop(), workspace, changes(workspace), ORIGIN)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    names = [["a"], ["b"], ["new/d"], ["c"]][:done]
    changed = {name for (name,) in names}
    now = content(workspace)
    assert {name for name in {*BEFORE, *AFTER} if now.get(name) != BEFORE.get(name)} == changed

    workspace.journal.undo("call")

    assert content(workspace) == BEFORE


def _die_after(done: int) -> None:
    from toolgate.workspace import transaction

    left = done
    for kind in (StagedChange, transaction._StagedRemoval):

        def counted(self: object, publish: object = kind.publish) -> object:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return publish(self)  # type: ignore[operator]

        kind.publish = counted  # type: ignore[method-assign,assignment]


def test_a_change_of_one_file_since_the_plan_is_a_conflict_for_all(workspace: Workspace) -> None:
    planned = changes(workspace)
    (workspace.root / "b").write_text("theirs\n")
    with pytest.raises(ToolError) as raised:
        commit_all(Stop(), workspace, planned, ORIGIN)

    assert raised.value.code == "CONFLICT"
    assert content(workspace) == {**BEFORE, "b": "theirs\n"}


def test_a_change_in_the_last_moment_is_a_conflict_for_all(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    prune = "toolgate.workspace.journal.Journal.prune_sometimes"
    monkeypatch.setattr(prune, lambda *_: (workspace.root / "c").write_text("theirs\n"))
    with pytest.raises(ToolError) as raised:
        commit_all(Stop(), workspace, changes(workspace), ORIGIN)

    assert raised.value.code == "CONFLICT"
    assert content(workspace) == {**BEFORE, "c": "theirs\n"}


def test_every_new_content_is_on_disk_before_the_first_file_changes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, rename = os.fsync, os.rename
    steps: list[str] = []

    def synced(fd: int) -> None:
        steps.append(os.pread(fd, 10, 0).decode() if stat.S_ISREG(os.fstat(fd).st_mode) else "directory")
        fsync(fd)

    def renamed(*args: Any, **kwargs: Any) -> None:
        steps.append("rename")
        rename(*args, **kwargs)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    commit_all(Stop(), workspace, changes(workspace), ORIGIN)

    assert [step for step in steps[: steps.index("rename")] if step != "directory"] == ["A\n", "D\n", "C\n"]
    assert steps[-1] == "directory"


def test_a_disk_that_does_not_confirm_changes_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def broken(fd: int) -> None:
        if stat.S_ISREG(os.fstat(fd).st_mode) and os.pread(fd, 10, 0) == b"C\n":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(ToolError) as caught:
        commit_all(Stop(), workspace, changes(workspace), ORIGIN)

    assert "'c'" in caught.value.message
    assert content(workspace) == BEFORE
    assert not (workspace.root / "new").exists()


def test_a_cancelled_call_changes_nothing(workspace: Workspace) -> None:
    planned, stop = changes(workspace), Stop()
    stop.set()
    with pytest.raises(Stopped):
        commit_all(stop, workspace, planned, ORIGIN)

    assert content(workspace) == BEFORE


def test_a_removed_file_that_somebody_made_again_is_not_overwritten_by_undo(workspace: Workspace) -> None:
    commit_all(Stop(), workspace, changes(workspace), ORIGIN)
    (workspace.root / "b").write_text("theirs\n")
    with pytest.raises(UndoRefused, match="'b'"):
        workspace.journal.undo("call")

    assert content(workspace) == {**AFTER, "b": "theirs\n"}
