"""Taking back chosen writes, file by file."""

from pathlib import Path

from toolgate.workspace import Stop, Workspace
from toolgate.workspace.changes import changed_files
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.overwrite import plan_write
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.undo_files import CHANGED, undo_files
from toolgate.workspace.write import commit


def write(workspace: Workspace, path: str, content: str, session: str = "s", call: str = "c") -> None:
    """A write as `write_file` makes it."""
    planned = plan_write(Stop(), workspace, path, content, SeenFiles())
    commit(Stop(), workspace, planned.change, Origin(session_id=session, turn_id=f"t-{call}", call_id=call, run=call))


def test_each_file_is_restored_or_refused_on_its_own(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("before\n")
    workspace = Workspace(tmp_path)
    write(workspace, "old.txt", "after\n")
    write(workspace, "new/file.txt", "new\n")
    write(workspace, "theirs.txt", "mine\n")
    (tmp_path / "theirs.txt").write_text("somebody else's\n")
    outcome = undo_files(Stop(), workspace, lambda entry: entry.origin.session_id == "s")
    assert sorted(outcome.restored) == ["new/file.txt", "old.txt"]
    assert outcome.refused == [("theirs.txt", CHANGED)]
    assert (tmp_path / "old.txt").read_text() == "before\n"
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "theirs.txt").read_text() == "somebody else's\n"
    again = undo_files(Stop(), workspace, lambda entry: entry.path != "theirs.txt")
    assert (again.restored, again.refused) == ([], [])
    workspace.close()


def test_a_write_below_a_later_one_is_refused_and_both_together_are_not(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    write(workspace, "a.txt", "one\n", call="c1")
    write(workspace, "a.txt", "two\n", session="other", call="c2")
    below = undo_files(Stop(), workspace, lambda entry: entry.origin.call_id == "c1")
    assert below.refused == [("a.txt", CHANGED)]
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert undo_files(Stop(), workspace, lambda _: True).restored == ["a.txt"]
    assert not (tmp_path / "a.txt").exists()
    workspace.close()


def test_without_a_journal_there_is_nothing_to_take_back(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert undo_files(Stop(), workspace, lambda _: True).restored == []
    assert changed_files(Stop(), workspace, {"s"}) == []
    assert not (tmp_path / ".toolgate").exists()
    workspace.close()
