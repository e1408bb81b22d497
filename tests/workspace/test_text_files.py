"""`Workspace.read_text` and `write_text`: whole files, confined, atomic and journalled."""

import stat
from pathlib import Path
from typing import Any

import pytest

from toolgate import ErrorCode, ToolError, Workspace
from toolgate.workspace import text_files


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    root = tmp_path / "root"
    root.mkdir()
    with Workspace(root) as opened:
        yield opened


def test_what_is_written_is_read(workspace: Workspace) -> None:
    workspace.write_text("docs/a.txt", "héllo\r\nworld")
    assert workspace.read_text("docs/a.txt") == "héllo\r\nworld"
    assert (workspace.root / "docs" / "a.txt").read_bytes() == "héllo\r\nworld".encode()


def test_undo_takes_it_back(workspace: Workspace) -> None:
    workspace.write_text("a.txt", "one\n")
    workspace.write_text("a.txt", "two\n")
    assert [done.action for done in workspace.journal.undo()] == ["restored"]
    assert workspace.read_text("a.txt") == "one\n"
    assert [done.action for done in workspace.journal.undo()] == ["removed"]
    assert not (workspace.root / "a.txt").exists()


def test_a_file_keeps_its_encoding_and_its_mode(workspace: Workspace) -> None:
    path = workspace.root / "a.txt"
    path.write_bytes("\ufeffold\n".encode("utf-16-le"))
    path.chmod(0o755)
    assert workspace.read_text("a.txt") == "old\n"
    workspace.write_text("a.txt", "new\n")
    assert path.read_bytes() == "\ufeffnew\n".encode("utf-16-le")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_the_same_text_again_writes_nothing(workspace: Workspace) -> None:
    workspace.write_text("a.txt", "one\n")
    before = (workspace.root / "a.txt").stat()
    workspace.write_text("a.txt", "one\n")
    assert (workspace.root / "a.txt").stat().st_ino == before.st_ino


@pytest.mark.parametrize("path", ["../a.txt", "/etc/hostname", ".git/config", ".toolgate/policy.toml", "link/a.txt"])
def test_nothing_is_written_outside_or_where_it_is_protected(workspace: Workspace, path: str, tmp_path: Path) -> None:
    (workspace.root / "link").symlink_to(tmp_path)
    with pytest.raises(ToolError) as refused:
        workspace.write_text(path, "x")
    assert refused.value.code is ErrorCode.ACCESS_DENIED
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"a\0b", "BINARY_FILE"), ("text".encode("utf-32"), "EXECUTION_ERROR"), (None, "NOT_FOUND")],
)
def test_what_is_no_text_is_said(workspace: Workspace, content: bytes | None, code: str) -> None:
    if content is not None:
        (workspace.root / "a.txt").write_bytes(content)
    with pytest.raises(ToolError) as refused:
        workspace.read_text("a.txt")
    assert refused.value.code == code


def test_a_file_that_is_too_large_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_BYTES", 3)
    (workspace.root / "a.txt").write_text("four")
    with pytest.raises(ToolError, match="too large"):
        workspace.read_text("a.txt")


@pytest.mark.parametrize("text", [b"x", None, 7])
def test_only_text_is_written(workspace: Workspace, text: Any) -> None:
    with pytest.raises(TypeError, match="writes text"):
        workspace.write_text("a.txt", text)
    assert list(workspace.root.iterdir()) == []
