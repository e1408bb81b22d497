"""Which files of the project git would run, or take its settings from."""

from pathlib import Path

import pytest

from toolgate.sandbox.git.edited_files import git_may_run


def may_run(root: Path, *paths: str) -> bool:
    return git_may_run(str(root), str(root / "home"), paths)


def make(root: Path, **files: str) -> None:
    for path, text in files.items():
        file = root / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize("path", ["a", "src/HEAD", "src/objects/x", "config", "hooks/x", "HEAD", "src/hooks/use.ts"])
def test_ordinary_files_are_not_for_git(tmp_path: Path, path: str) -> None:
    assert not may_run(tmp_path, path)


@pytest.mark.parametrize("path", ["/", "//x", "/etc/hosts", "../x"])
@pytest.mark.timeout(10)
def test_a_path_that_is_not_below_the_root_counts(tmp_path: Path, path: str) -> None:
    assert may_run(tmp_path, "a", path)


@pytest.mark.parametrize("content", ["objects__x", "commondir"])
@pytest.mark.parametrize("at", ["", "sub__"])
def test_every_file_of_a_repository_counts_whatever_its_name_is(tmp_path: Path, at: str, content: str) -> None:
    make(tmp_path, **{f"{at}HEAD": "ref: refs/heads/main\n", f"{at}{content}": "x"})
    directory = at.replace("__", "/")
    assert may_run(tmp_path, f"{directory}config")
    assert may_run(tmp_path, "a", f"{directory}hooks/pre-commit")


def test_the_last_file_of_a_repository_counts(tmp_path: Path) -> None:
    make(tmp_path, sub__config="x", sub__objects__x="x")
    assert may_run(tmp_path, "sub/HEAD")
    assert not may_run(tmp_path, "sub/README")


def test_files_that_make_a_repository_together_count(tmp_path: Path) -> None:
    assert may_run(tmp_path, "sub/HEAD", "sub/objects/x", "sub/config")


def test_what_the_settings_name_counts(tmp_path: Path) -> None:
    make(tmp_path, **{".git__config": "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../more.cfg\n"})
    assert may_run(tmp_path, ".githooks/pre-commit")
    assert may_run(tmp_path, "more.cfg")
    assert not may_run(tmp_path, "githooks/pre-commit")


def test_a_git_directory_with_another_name_counts(tmp_path: Path) -> None:
    make(tmp_path, **{".git": "gitdir: meta\n", "meta__x": ""})
    assert may_run(tmp_path, "meta/config")
