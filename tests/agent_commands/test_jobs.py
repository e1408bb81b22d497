"""`jobs`: listed, waited for and stopped, in a real shell session."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate import ToolCall, ToolResult, Workspace
from toolgate.shell import CommandRouter, ShellSession


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ShellSession]:
    async with ShellSession(Workspace(tmp_path)) as session:
        yield session


async def no_dispatch(call: ToolCall) -> ToolResult:
    raise AssertionError(f"{call} was dispatched")


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


async def test_a_command_may_become_a_job_after_a_part_of_a_second(session: ShellSession) -> None:
    router = CommandRouter(session, no_dispatch)
    result = await router.execute("jobs keep --after 0.2 sh -c 'echo begun; sleep 60; echo ended'")

    assert (result.stdout, result.job_id is not None) == ("begun\n", True)
    await router.execute(f"jobs stop {result.job_id}")


@pytest.mark.parametrize("after", ["0", "0.0", "-1", "x", "1.2.3"])
async def test_a_time_that_is_none_starts_nothing(session: ShellSession, after: str) -> None:
    result = await CommandRouter(session, no_dispatch).execute(f"jobs keep --after {after} touch f")

    assert (result.exit_code, "number of seconds above 0" in result.stderr) == (2, True)
