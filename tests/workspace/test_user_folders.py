"""Folders of Markdown: bounded, and a project's links lead nowhere."""

import os
from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.runtime.policy.globs import PathGlob
from toolgate.workspace import Workspace
from toolgate.workspace.file_guard import PathRules
from toolgate.workspace.secret_scan import SecretScan
from toolgate.workspace.user_folders import entries, folders_of, open_folder, opened, read_text, require_plain


def test_the_users_folder_comes_first_and_what_is_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "root" / ".claude" / "skills").mkdir(parents=True)
    (tmp_path / "home" / "skills").mkdir(parents=True)
    workspace = Workspace(tmp_path / "root")
    found = folders_of(workspace, tmp_path / "home", "skills")
    there = []
    for folder in found:
        with opened(folder) as fd:
            there += [folder.path] if fd is not None else []
    workspace.close()

    assert [folder.source for folder in found] == ["user", "project", "project", "project"]
    assert there == [str(tmp_path / "home" / "skills"), ".claude/skills"]
    assert [folder.follows_links for folder in found] == [True, False, False, False]


def test_a_link_is_followed_only_if_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("text")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a.md")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            open_folder(fd, "folder", follow=False)
        os.close(open_folder(fd, "folder", follow=True))
        with pytest.raises(OSError, match="Too many levels"):
            read_text(fd, "file", 100)
        assert read_text(fd, "file", 100, follow=True) == "text"
    finally:
        os.close(fd)


def test_what_is_no_small_text_is_refused_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 101)
    (tmp_path / "binary").write_bytes(b"ok\xff")
    os.mkfifo(tmp_path / "pipe")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        for name, reason in (("large", "larger than 100 bytes"), ("binary", "byte 2"), ("pipe", "not a regular file")):
            with pytest.raises(ValueError, match=reason):
                read_text(fd, name, 100)
    finally:
        os.close(fd)


def test_of_a_huge_folder_some_names_are_listed(tmp_path: Path) -> None:
    for number in range(1005):
        (tmp_path / f"{number:04}").touch()
    fd = os.open(tmp_path, os.O_RDONLY)
    names = entries(fd)
    os.close(fd)

    assert len(names) == 1000
    assert names == sorted(names)


def test_the_project_is_searched_for_denied_files_only_if_a_text_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "plan.md").write_text("plan")
    (tmp_path / "linked.md").hardlink_to(tmp_path / "private" / "plan.md")
    (tmp_path / "AGENTS.md").write_text("notes")
    with Workspace(tmp_path) as workspace:
        workspace.path_rules = lambda: PathRules(denied=(PathGlob("private/**"),))
        for path in ("linked.md", "private/plan.md"):
            with pytest.raises(ToolError, match="denies"):
                require_plain(workspace, path)
        monkeypatch.delattr(SecretScan, "find")  # a search of the whole project for each skill in every prompt is slow
        require_plain(workspace, "AGENTS.md")
