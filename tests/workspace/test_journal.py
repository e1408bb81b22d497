"""The journal on disk: private, bounded, locked."""

import os
from pathlib import Path

import pytest

from toolgate.workspace import Stop, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.target import state_of, target_of
from toolgate.workspace.write import Change, commit


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def write(workspace: Workspace, path: str, content: str, call: str = "c", turn: str = "t", session: str = "s") -> None:
    target = target_of(workspace, path)
    opened = target.open(workspace)
    before = state_of(opened)
    if opened is not None:
        opened.close()
    planned = Change(target=target, before=before, pieces=(content.encode(),))
    commit(Stop(), workspace, planned, Origin(session_id=session, turn_id=turn, call_id=call, tool="test"))


def content(workspace: Workspace) -> dict[str, str]:
    return {
        str(path.relative_to(workspace.root)): path.read_text()
        for path in sorted(workspace.root.rglob("*"))
        if path.is_file() and ".toolgate" not in path.parts
    }


def test_the_journal_is_private_and_ignores_itself(workspace: Workspace) -> None:
    write(workspace, "f", "new")
    folder = workspace.root / ".toolgate/journal"

    assert (folder.stat().st_mode & 0o777, (folder / ".gitignore").read_text()) == (0o700, "*\n")
    assert (folder / "journal.jsonl").stat().st_mode & 0o777 == 0o600


def test_old_entries_are_forgotten_and_the_newest_is_kept(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("0" * 100)
    for number in range(5):
        write(workspace, "f", str(number) * 100, call=str(number))
    with workspace.journal.open(Stop()) as journal:
        journal.prune(most_entries=3, most_bytes=10**9)
        by_number = [entry.origin.call_id for entry in journal.entries()[0]]
        journal.prune(most_entries=3, most_bytes=1)
        by_size = [entry.origin.call_id for entry in journal.entries()[0]]

    assert (by_number, by_size) == (["2", "3", "4"], ["4"])
    assert len(os.listdir(workspace.root / ".toolgate/journal/images")) == 1
    workspace.journal.undo("session")
    assert content(workspace) == {"f": "3" * 100}


def test_a_lock_that_another_process_holds_is_waited_for_and_then_given_up(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    from toolgate.errors import ToolError

    write(workspace, "f", "1")
    monkeypatch.setattr("toolgate.workspace.journal._LOCK_TIMEOUT", 0.05)
    with (workspace.root / ".toolgate/journal/lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ToolError, match="Another process"):
            write(workspace, "f", "2")

    assert content(workspace) == {"f": "1"}
