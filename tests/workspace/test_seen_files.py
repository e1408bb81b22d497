"""What a session knows about files."""

import os
from pathlib import Path

import pytest

from toolgate.tools.context import ToolContext
from toolgate.workspace import Workspace
from toolgate.workspace.file_state import digest_file
from toolgate.workspace.seen_files import SeenFiles

PLACE = ("f",)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "f").write_text("one")
    return Workspace(tmp_path)


def seen(workspace: Workspace, *, by_content: bool = True) -> SeenFiles:
    known = SeenFiles()
    with workspace.open_file("f") as opened:
        known.remember(PLACE, opened.stat, digest_file(opened.fd, opened.stat) if by_content else None)
    return known


def changed(workspace: Workspace, known: SeenFiles) -> bool:
    with workspace.open_file("f") as opened:
        return known.changed(PLACE, opened)


def test_what_was_never_seen_has_not_changed(workspace: Workspace) -> None:
    assert not changed(workspace, SeenFiles())


def test_what_is_as_it_was_has_not_changed(workspace: Workspace) -> None:
    assert not changed(workspace, seen(workspace))


def test_another_content_is_a_change(workspace: Workspace) -> None:
    known = seen(workspace)
    (workspace.root / "f").write_text("two")

    assert changed(workspace, known)


def test_another_time_is_no_change_where_the_content_is_known(workspace: Workspace) -> None:
    by_content, by_identity = seen(workspace), seen(workspace, by_content=False)
    os.utime(workspace.root / "f", (1, 1))

    assert (changed(workspace, by_content), changed(workspace, by_identity)) == (False, True)


def test_a_change_within_one_tick_of_the_clock_is_seen(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.workspace.seen_files.identity", lambda _: "the same")
    known = seen(workspace)
    (workspace.root / "f").write_text("two")

    assert changed(workspace, known)


def test_what_is_gone_can_be_written_anew(workspace: Workspace) -> None:
    assert not seen(workspace).changed(PLACE, None)


def test_contexts_of_a_session_share_what_is_known() -> None:
    context = ToolContext()

    assert context.derive(call_id="c1").state.seen_files is context.state.seen_files
