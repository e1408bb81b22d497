"""Analysis and agent commands with a real shell session."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate import ToolCall, ToolResult, Workspace
from toolgate.command.analysis import CommandPlan, analyse
from toolgate.shell import BashWrapperHandler, CommandRouter, ShellSession
from toolgate.shell.surroundings import surroundings


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ShellSession]:
    async with ShellSession(Workspace(tmp_path)) as session:
        yield session


def judged(session: ShellSession, root: Path, command: str) -> CommandPlan:
    return analyse(command, surroundings(Workspace(root), session.state()))


async def no_dispatch(call: ToolCall) -> ToolResult:
    raise AssertionError(f"{call} was dispatched")


async def test_a_function_of_the_session_counts_as_what_it_runs(session: ShellSession, tmp_path: Path) -> None:
    await session.execute("ls() { rm -f x; }; greet() { echo hi; }")
    assert ("rm", "-f", "x") in judged(session, tmp_path, "ls").commands
    assert not judged(session, tmp_path, "greet").asks


async def test_an_alias_of_the_session_counts_as_what_it_runs(session: ShellSession, tmp_path: Path) -> None:
    await session.execute("alias ll='ls -l' gone='rm -rf x'")
    assert ("ls", "-l", "src") in judged(session, tmp_path, "ll src").commands
    assert judged(session, tmp_path, "gone").asks


async def test_a_changed_path_is_followed(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("ls", "tool"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    assert not judged(session, tmp_path, "ls").asks
    await session.execute("export PATH=$PWD/bin:$PATH")
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


async def test_bash_with_an_existing_file_is_the_real_bash(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/s.sh").write_text("echo from the script\n")
    handler = BashWrapperHandler(session)
    assert (await handler.execute("bash cd sub")).exit_code == 0
    assert (await handler.execute("bash s.sh")).stdout == "from the script\n"
    assert (await handler.execute("bash echo -h")).stdout == "-h\n"


async def test_jobs_are_listed_waited_for_and_stopped(session: ShellSession) -> None:
    router = CommandRouter(session, no_dispatch)
    assert (await router.execute("jobs")).stdout == "There are no background jobs.\n"
    short = await session.execute("echo hi; exit 3", background=True)
    waited = await router.execute(f"jobs wait {short.job_id} --timeout 30")
    assert (waited.stdout, waited.exit_code) == ("hi\n", 3)
    assert (await router.execute(f"jobs output {short.job_id}")).stdout == "hi\n"
    long = await session.execute("sleep 60", background=True)
    assert f"{long.job_id}  running" in (await router.execute("jobs")).stdout
    late = await router.execute(f"jobs wait {long.job_id} --timeout 0")
    assert "still runs" in late.stderr
    assert f"{long.job_id}  stopped" in (await router.execute(f"jobs stop {long.job_id}")).stdout


async def test_a_job_that_is_not_known_is_named(session: ShellSession) -> None:
    result = await CommandRouter(session, no_dispatch).execute("jobs output nope")
    assert result.exit_code == 1
    assert "'nope'" in result.stderr
