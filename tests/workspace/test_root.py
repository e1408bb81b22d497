"""The workspace."""

import gc
import os
import socket
from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("a\n")
    return Workspace(tmp_path)


def code_of(workspace: Workspace, path: str) -> str:
    with pytest.raises(ToolError) as caught:
        workspace.open_file(path)
    return caught.value.code.value


def test_a_file_is_opened_relative_to_the_root_or_to_a_directory(workspace: Workspace) -> None:
    with workspace.open_file("sub/a.txt") as one, workspace.open_file("a.txt", cwd="sub") as other:
        assert (one.path, other.path, os.read(one.fd, 9)) == ("sub/a.txt", "sub/a.txt", b"a\n")


def test_what_is_above_a_link_is_above_its_target(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir()
    (tmp_path / "link").symlink_to("sub/deep")

    assert [workspace.relative("link/../a.txt"), workspace.relative("../a.txt", "link")] == ["sub/a.txt"] * 2
    assert workspace.relative(f"{tmp_path}/link/../../link") == "link"
    assert workspace.relative("nothing/../sub/a.txt") == "sub/a.txt"


def test_opened_files_are_closed(workspace: Workspace) -> None:
    gc.collect()  # what other tests have left is not counted
    before = len(os.listdir("/proc/self/fd"))
    with workspace.open_file("sub/a.txt") as opened:
        pass

    assert (opened.fd, len(os.listdir("/proc/self/fd"))) == (-1, before)


def test_a_refusal_leaves_no_descriptor_open(workspace: Workspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for path in ("fifo", "sub", "missing", "/etc/passwd"):
        code_of(workspace, path)

    assert len(os.listdir("/proc/self/fd")) == before


def test_only_regular_files_are_opened(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        assert [code_of(workspace, path) for path in ("fifo", "sock", "sub", ".")] == [
            "INVALID_PARAM",
            "INVALID_PARAM",
            "IS_DIRECTORY",
            "IS_DIRECTORY",
        ]


def test_a_waiting_writer_of_a_fifo_is_not_woken(workspace: Workspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    code_of(workspace, "fifo")
    with pytest.raises(OSError, match="No such device"):  # as long as nobody has opened it for reading
        os.open(tmp_path / "fifo", os.O_WRONLY | os.O_NONBLOCK)


def test_a_directory_is_opened_and_a_file_is_none(workspace: Workspace) -> None:
    fd = workspace.open_dir("sub")
    names = os.listdir(fd)
    os.close(fd)
    with pytest.raises(ToolError) as file:
        workspace.open_dir("sub/a.txt")
    with pytest.raises(ToolError) as missing:
        workspace.open_dir("nope")
    with pytest.raises(ToolError) as below:
        workspace.open_dir("sub/a.txt/x")

    assert (names, file.value.code, missing.value.code, below.value.code) == (
        ["a.txt"],
        "INVALID_PARAM",
        "NOT_FOUND",
        "NOT_FOUND",
    )


def test_the_state_changes_with_the_file(workspace: Workspace, tmp_path: Path) -> None:
    states = [workspace.state("new.txt")]
    (tmp_path / "new.txt").write_text("1")
    states.append(workspace.state("new.txt"))
    (tmp_path / "new.txt").write_text("22")
    states.append(workspace.state("new.txt"))
    os.replace(tmp_path / "sub" / "a.txt", tmp_path / "new.txt")
    states.append(workspace.state("new.txt"))

    assert states[0] == "absent"
    assert len(set(states)) == 4


def test_the_state_outside_is_refused_and_below_a_file_absent(workspace: Workspace) -> None:
    with pytest.raises(ToolError):
        workspace.state("../x")
    assert workspace.state("sub/a.txt/x") == "absent"


def test_a_closed_workspace_opens_nothing(workspace: Workspace) -> None:
    workspace.close()
    workspace.close()

    assert code_of(workspace, "sub/a.txt") == "EXECUTION_ERROR"


def test_a_workspace_that_is_dropped_closes_its_root(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    Workspace(tmp_path)

    assert len(os.listdir("/proc/self/fd")) == before


def test_the_root_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Workspace(tmp_path / "missing")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        Workspace(tmp_path / "file")


def test_is_protected_speaks_of_normal_paths(workspace: Workspace) -> None:
    assert [workspace.is_protected(path) for path in (".", "a", ".git/hooks/x", ".toolgate")] == [
        False,
        False,
        True,
        True,
    ]
