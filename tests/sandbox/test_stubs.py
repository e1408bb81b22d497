"""Mount points for protected paths that do not exist: gone after the last session."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.sandbox.kit import VIEWED
from tests.support.shells import Shells
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.sandbox.stubs import Stubs
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


def repository(shells: Shells) -> None:
    subprocess.run(["git", "init", "-q", shells.root], check=True)
    (shells.root / ".git" / "hooks" / "pre-commit").write_text("original")
    for path in (shells.root / ".git", *(shells.root / ".git").rglob("*")):
        os.chown(path, shells.uid, shells.uid) if os.geteuid() == 0 else None


@VIEWED
def test_mount_points_for_missing_paths_are_gone_after_the_session(shells: Shells) -> None:
    repository(shells)
    shutil.rmtree(shells.root / ".git" / "hooks")

    async def script(session: ShellSession) -> tuple[int | None, bool]:
        result = await session.execute("echo evil > .git/hooks/new")
        return result.exit_code, (shells.root / ".toolgate").exists()

    assert shells.run(script) == (1, True)
    assert not (shells.root / ".toolgate").exists()
    assert not (shells.root / ".git" / "hooks").exists()


@VIEWED
def test_a_second_session_keeps_the_mount_points_that_it_shares(shells: Shells) -> None:
    async def script(first: ShellSession) -> tuple[bool, CommandResult]:
        await first.execute("true")
        other = ShellSession(Workspace(shells.root), layer=first._layer, environment={})
        await other.execute("true")
        await first.close()
        still = (shells.root / ".toolgate").exists()
        result = await other.execute("mkdir -p .toolgate/x")
        await other.close()
        return still, result

    still, result = shells.run(script)

    assert still
    assert result.exit_code == 1
    assert not (shells.root / ".toolgate").exists()


def test_stubs_are_never_made_or_removed_through_a_link(tmp_path: Path) -> None:
    root, evil = tmp_path / "root", tmp_path / "evil"
    root.mkdir()
    evil.mkdir()
    (root / "way").symlink_to(evil)
    opened = RootDirectory(str(root))
    stubs = Stubs(opened)
    with pytest.raises(OSError, match="symbolic"):
        stubs.ensure("way/file", file=True)
    (root / "way").unlink()
    (root / "way").mkdir()
    assert stubs.ensure("way/file", file=True)
    (evil / "file").touch(0o600)
    (evil / "file").chmod(0o1600)
    (root / "way").rename(root / "old")
    (root / "way").symlink_to(evil)
    stubs.release()
    opened.close()

    assert [path.name for path in evil.iterdir()] == ["file"]
