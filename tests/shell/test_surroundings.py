"""What the analysis knows of a session: functions, aliases, PATH and directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate import Workspace
from toolgate.command.analysis import CommandPlan, analyse
from toolgate.shell import ShellSession
from toolgate.shell.surroundings import surroundings


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ShellSession]:
    async with ShellSession(Workspace(tmp_path)) as session:
        yield session


def judged(session: ShellSession, root: Path, command: str) -> CommandPlan:
    return analyse(command, surroundings(Workspace(root), session.state()))


async def test_a_function_of_the_session_counts_as_what_it_runs(session: ShellSession, tmp_path: Path) -> None:
    await session.execute("ls() { rm -f x; }; greet() { echo hi; }")
    assert ("rm", "-f", "x") in judged(session, tmp_path, "ls").commands
    assert not judged(session, tmp_path, "greet").asks


async def test_an_alias_of_the_session_counts_as_what_it_runs(session: ShellSession, tmp_path: Path) -> None:
    await session.execute("alias ll='ls -l' gone='rm -rf x'")
    assert ("ls", "-l", "src") in judged(session, tmp_path, "ll src").commands
    assert judged(session, tmp_path, "gone").asks


@pytest.mark.parametrize("hiding", ["", "; export -n PATH"])
async def test_a_changed_path_is_followed(session: ShellSession, tmp_path: Path, hiding: str) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("ls", "tool"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    assert not judged(session, tmp_path, "ls").asks
    await session.execute(f"export PATH=$PWD/bin:$PATH{hiding}")
    assert judged(session, tmp_path, "ls").scripts == ("bin/ls",)
    assert judged(session, tmp_path, "ls").asks
    assert not judged(session, tmp_path, "tool").asks
    assert not judged(session, tmp_path, "cat x").asks


async def test_paths_are_judged_from_the_directory_of_the_session(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "f").write_text("x")
    await session.execute("cd sub")
    assert not judged(session, tmp_path, "cat ../f").asks
    assert judged(session, tmp_path, "cat ../../f").asks
    assert judged(session, tmp_path, "echo x > ../f").reason == "it overwrites '../f', which exists"
    assert not judged(session, tmp_path, "echo x > f").asks
