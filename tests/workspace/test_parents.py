"""Directories that a new file needs, and those that were made in vain."""

from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.workspace import Workspace
from toolgate.workspace.parents import make_parents, remove_empty
from toolgate.workspace.target import target_of


def test_missing_directories_are_made_and_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    workspace = Workspace(tmp_path)
    made = make_parents(workspace, target_of(workspace, "a/b/c/file.txt"))

    assert made == ("a/b", "a/b/c")
    assert (tmp_path / "a/b/c").is_dir()
    remove_empty(workspace, made)
    workspace.close()
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_a_directory_that_somebody_uses_stays(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    made = make_parents(workspace, target_of(workspace, "a/b/file.txt"))
    (tmp_path / "a" / "other.txt").write_text("mine")
    remove_empty(workspace, made)
    workspace.close()

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "other.txt"]


def test_a_link_that_came_in_between_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / "a").mkdir(parents=True)
    workspace = Workspace(tmp_path / "root")
    target = target_of(workspace, "a/b/file.txt")
    (tmp_path / "root" / "a").rmdir()
    (tmp_path / "root" / "a").symlink_to(tmp_path / "outside")

    with pytest.raises((ToolError, OSError)):
        make_parents(workspace, target)
    workspace.close()
    assert list((tmp_path / "outside").iterdir()) == []
