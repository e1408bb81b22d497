"""Programs that the settings of a repository make git run."""

import subprocess
from pathlib import Path

import pytest

from toolgate.command.analysis import Kind
from toolgate.shell.git_programs import Files, git_programs


def files(root: Path) -> Files:
    def kind(path: str) -> Kind:
        file = root / path
        return "directory" if file.is_dir() else "file" if file.exists() else "absent"

    def read(path: str) -> bytes | None:
        return (root / path).read_bytes() if (root / path).is_file() else None

    return Files(str(root), kind, read)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    return tmp_path


def configure(root: Path, text: str, file: str = ".git/config") -> None:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)


@pytest.mark.parametrize(
    "text",
    [
        '[filter "a"]\n\tclean = ./own',
        '[filter "a"]\n\tprocess = ./own',
        '[diff "a"]\n\ttextconv = ./own',
        "[core]\n\talternateRefsCommand = ./own",
        '[man "a"]\n\tcmd = ./own',
        '[merge "a"]\n\tdriver = ./own',
        '[remote "a"]\n\tpromisor = true\n[core]\n\tsshCommand = ./own',
        '[remote "a"]\n\tpromisor = true\n\turl = ext::./own',
        '[remote "a"]\n\tpromisor = true\n\turl = x\n[url "ext::./own"]\n\tinsteadOf = x',
        '[remote "a"]\n\tuploadpack = ./own',
    ],
)
def test_a_program_that_git_runs_while_it_reads_is_found(root: Path, text: str) -> None:
    configure(root, text)

    assert git_programs(files(root), "src", "log") == ("./own",)


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tbare = false\n\tpager = ./own\n\teditor = ./own\n\tfsmonitor = ./own",
        "[diff]\n\texternal = ./own",
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process',
        "[core]\n\tsshCommand = ssh -i key",
        '[remote "origin"]\n\turl = https://example.org/a.git\n[branch "main"]\n\tremote = origin',
        "[alias]\n\tst = status",
    ],
)
def test_control_settings_that_run_nothing_in_a_log_name_no_program(root: Path, text: str) -> None:
    configure(root, text)

    assert git_programs(files(root), ".", "log") == ()


def test_an_external_diff_counts_for_a_diff(root: Path) -> None:
    configure(root, "[diff]\n\texternal = ./own")

    assert git_programs(files(root), ".", "diff") == ("./own",)


def test_included_files_and_those_of_a_work_tree_are_read(root: Path) -> None:
    configure(root, "[include]\n\tpath = ../more")
    configure(root, '[filter "a"]\n\tclean = ./one', "more")
    configure(root, '[filter "a"]\n\tclean = ./two', ".git/config.worktree")

    assert sorted(git_programs(files(root), ".", "log")) == ["./one", "./two"]


@pytest.mark.parametrize("place", ["src/.git/config", "src/config"])
def test_a_repository_in_a_directory_counts_there_only(root: Path, place: str) -> None:
    configure(root, '[filter "a"]\n\tclean = ./own', place)
    configure(root, "ref: refs/heads/main\n", "src/HEAD")

    assert git_programs(files(root), "src", "log") == ("./own",)
    assert git_programs(files(root), ".", "log") == ()


def test_a_git_directory_elsewhere_below_the_root_is_followed(root: Path) -> None:
    (root / "src/.git").write_text(f"gitdir: {root}/elsewhere\n")
    configure(root, '[filter "a"]\n\tclean = ./own', "elsewhere/config")

    assert git_programs(files(root), "src", "log") == ("./own",)


def test_settings_that_cannot_be_read_count_as_a_program(root: Path) -> None:
    configure(root, "no settings")

    assert len(git_programs(files(root), ".", "log")) == 1


@pytest.mark.parametrize("index", ["--no-split-index", "--split-index"])
def test_a_submodule_counts_because_git_looks_into_it(tmp_path: Path, index: str) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", ".")
    git("init", "-q", "sub")
    git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "first")
    git("add", "sub")
    git("update-index", index)
    git("-C", "sub", "config", "filter.a.clean", "./own")

    assert git_programs(files(tmp_path), ".", "status") == ("./own",)


def test_an_index_that_cannot_be_read_counts_as_a_program(root: Path) -> None:
    configure(root, "link\0 no index", ".git/index")

    assert len(git_programs(files(root), ".", "status")) == 1
