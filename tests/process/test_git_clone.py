"""Clones of the operator's repository, made without running anything that somebody configured."""

import os
import subprocess
from pathlib import Path

import pytest

from toolgate.errors import WorkspaceError
from toolgate.process import git_clone
from toolgate.workspace.threads import Stop


def git(place: Path, *words: str) -> str:
    """Run git as a person would, without the configuration of this machine."""
    done = subprocess.run(
        ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(place), *words],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(root: Path) -> Path:
    """A repository with two commits on a branch."""
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=trunk")
    (root / "a.txt").write_text("one\n")
    (root / "sub").mkdir()
    (root / "sub" / "run.sh").write_text("echo\n")
    (root / "sub" / "run.sh").chmod(0o755)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=first")
    (root / "a.txt").write_text("two\n")
    git(root, "commit", "--quiet", "--all", "--message=second")
    return root


def test_a_clone_has_the_commit_its_history_and_its_branch_and_shares_no_file(tmp_path: Path) -> None:
    root, there = repository(tmp_path / "root"), tmp_path / "there"
    commit = git_clone.head(Stop(), str(root))
    (root / "a.txt").write_text("not committed\n")
    git_clone.clone(Stop(), str(root), commit, str(there))

    assert commit == git(root, "rev-parse", "HEAD")
    assert git(there, "status", "--short", "--branch") == "## trunk"
    assert git(there, "log", "--format=%s") == "second\nfirst"
    assert (there / "a.txt").read_text() == "two\n"
    assert os.access(there / "sub" / "run.sh", os.X_OK)
    assert git(there, "remote") == ""
    assert {path.stat().st_nlink for path in there.rglob("*") if path.is_file()} == {1}
    assert not (there / ".git" / "objects" / "info" / "alternates").exists()


def test_no_hook_filter_or_program_of_any_configuration_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, mark = repository(tmp_path / "root"), tmp_path / "mark"
    (root / ".gitattributes").write_text("* filter=evil\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=attributes")
    evil = f"[core]\n\tfsmonitor = touch {mark}\n\thooksPath = {root}/hooks\n"
    evil += f'[filter "evil"]\n\tsmudge = touch {mark}; cat\n'
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(evil)
    with (root / ".git" / "config").open("a") as file:
        file.write(evil)
    (root / "hooks").mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (root / "hooks" / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (root / "hooks" / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(root))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    git_clone.clone(Stop(), str(root), git_clone.head(Stop(), str(root)), str(tmp_path / "there"))

    assert (tmp_path / "there" / "a.txt").read_text() == "two\n"
    assert not mark.exists()


def test_a_commit_that_no_branch_has_any_longer_is_found(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    commit = git_clone.head(Stop(), str(root))
    git(root, "reset", "--quiet", "--hard", "HEAD~1")
    git_clone.clone(Stop(), str(root), commit, str(tmp_path / "there"))

    assert (tmp_path / "there" / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize("commit", ["0" * 40, "HEAD", "--upload-pack=touch mark", ""])
def test_what_is_no_commit_of_the_repository_is_refused(tmp_path: Path, commit: str) -> None:
    with pytest.raises(WorkspaceError, match="fetch it there" if commit.startswith("0") else "is not one"):
        git_clone.clone(Stop(), str(repository(tmp_path / "root")), commit, str(tmp_path / "there"))


def test_a_repository_without_a_commit_says_what_to_do(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(WorkspaceError, match="commit there what sessions shall begin with"):
        git_clone.head(Stop(), str(tmp_path))

    assert git_clone.is_repository(str(tmp_path))
    assert not git_clone.is_repository(str(tmp_path / ".git"))
