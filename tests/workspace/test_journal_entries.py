"""Entries of the journal."""

import json
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


def test_a_torn_line_of_the_journal_is_passed_over(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("0")
    write(workspace, "f", "1", call="1")
    journal = workspace.root / ".toolgate/journal/journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"id": "0')
    write(workspace, "f", "2", call="2")
    workspace.journal.undo("session")

    assert content(workspace) == {"f": "0"}


def test_an_entry_names_the_call_the_path_and_both_states(workspace: Workspace) -> None:
    (workspace.root / "f").write_text("old")
    before = (workspace.root / "f").stat()
    write(workspace, "f", "new", call="c1", turn="t1", session="s1")
    entry = json.loads((workspace.root / ".toolgate/journal/journal.jsonl").read_text())
    after = (workspace.root / "f").stat()

    assert entry["origin"] == {"session_id": "s1", "turn_id": "t1", "call_id": "c1", "tool": "test", "run": ""}
    assert (entry["path"], entry["before"]["ino"], entry["before"]["mode"]) == ("f", before.st_ino, before.st_mode)
    assert (entry["after"]["ino"], entry["after"]["mtime_ns"]) == (after.st_ino, after.st_mtime_ns)
