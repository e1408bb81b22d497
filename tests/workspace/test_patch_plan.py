"""What a patch is going to do."""

from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.workspace import Stop, Workspace
from toolgate.workspace.journal_entries import Origin
from toolgate.workspace.patch import parse_patch
from toolgate.workspace.patch_plan import PatchPlan, plan_patch
from toolgate.workspace.seen_files import SeenFiles
from toolgate.workspace.transaction import commit_all
from toolgate.workspace.write import Change


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "f").write_text("a\nb\n")
    (tmp_path / "image").write_bytes(b"\x89PNG\x00\x01")
    return Workspace(tmp_path)


def planned(workspace: Workspace, *lines: str) -> PatchPlan:
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    return plan_patch(Stop(), workspace, parse_patch(text), SeenFiles())


def test_planning_changes_nothing(workspace: Workspace) -> None:
    plan = planned(workspace, "*** Update File: f", "-a", "+A", "*** Add File: x/y", "+z", "*** Delete File: image")

    assert [file.action for file in plan.files] == ["updated", "added", "deleted"]
    assert sorted(path.name for path in workspace.root.iterdir()) == ["f", "image"]
    assert (workspace.root / "f").read_text() == "a\nb\n"


def test_a_deleted_file_that_is_no_text_is_named(workspace: Workspace) -> None:
    diff = planned(workspace, "*** Delete File: image").diff

    assert diff == "Deletes 'image'. 'image' had 6 bytes of binary content, which a diff cannot show.\n"


def test_empty_files_are_shown(workspace: Workspace) -> None:
    (workspace.root / "empty").touch()
    plan = planned(workspace, "*** Delete File: empty", "*** Add File: new")

    assert plan.diff == ("--- a/empty\n+++ /dev/null\n(an empty file)\n--- /dev/null\n+++ b/new\n(an empty file)\n")


def test_the_diff_is_bounded_over_all_files(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.workspace.patch_plan.MAX_DIFF", 200)
    sections = [line for number in range(9) for line in (f"*** Add File: n{number}", *["+" + "x" * 50] * 4)]
    plan = planned(workspace, *sections)

    assert (plan.added, plan.diff.count("diff cut here") >= 8) == (36, True)


@pytest.mark.parametrize(("limit", "kept"), [(8, b"a\nb\n"), (3, None)], ids=["by its content", "by its hash"])
def test_a_file_that_changed_after_planning_is_a_conflict(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, limit: int, kept: bytes | None
) -> None:
    monkeypatch.setattr("toolgate.workspace.patch_plan._MAX_KEPT", limit)
    plan = planned(workspace, "*** Update File: f", "-a", "+A")
    (change,) = plan.changes
    assert isinstance(change, Change)
    assert change.old == kept

    (workspace.root / "f").write_text("a\nc\n")
    with pytest.raises(ToolError, match="has changed since it was read"):
        commit_all(Stop(), workspace, plan.changes, Origin())
    (workspace.root / "f").write_text("a\nb\n")
    commit_all(Stop(), workspace, plan.changes, Origin())
    assert (workspace.root / "f").read_text() == "A\nb\n"


def test_a_file_that_was_read_keeps_its_line_ends_when_it_is_replaced(workspace: Workspace) -> None:
    (workspace.root / "dos").write_bytes(b"a\r\nb\nc\r\n")
    known = SeenFiles()
    with workspace.open_file("dos") as opened:
        known.remember(("dos",), opened.stat, None)
    text = "*** Begin Patch\n*** Add File: dos\n+a\n+B\n+c\n*** End Patch"
    for seen, made in ((known, b"a\r\nB\nc\r\n"), (SeenFiles(), b"a\nB\nc\n")):
        plan = plan_patch(Stop(), workspace, parse_patch(text), seen)
        (change,) = plan.changes
        assert isinstance(change, Change)
        assert change.pieces == (made,)


def test_a_move_to_itself_says_so(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="to itself"):
        planned(workspace, "*** Update File: f", "*** Move to: ./f", "@@", "-a", "+A")


def test_a_large_file_is_left_to_the_other_tool(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.workspace.patch_plan.MAX_FOR_SEVERAL", 3)
    with pytest.raises(ToolError, match="has 4 bytes"):
        planned(workspace, "*** Update File: f", "-a", "+A")
