"""New content made of spans of the old file."""

from pathlib import Path

import pytest

from toolgate.workspace import Stop, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.pieces import FileSpan, Piece
from toolgate.workspace.target import state_of, target_of
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


def test_spans_of_the_old_file_are_spliced_in(workspace: Workspace) -> None:
    (workspace.root / "f").write_bytes(b"0123456789")
    write(workspace, "f", FileSpan(0, 3), b"---", FileSpan(7, 3))

    assert (workspace.root / "f").read_bytes() == b"012---789"


def test_spans_are_copied_through_memory_where_the_kernel_cannot(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.workspace.pieces._by_kernel", lambda *_: 0)
    (workspace.root / "f").write_bytes(b"0123456789" * 300_000)
    write(workspace, "f", FileSpan(10, 2_999_990), b"!")

    assert (workspace.root / "f").read_bytes() == b"0123456789" * 299_999 + b"!"
