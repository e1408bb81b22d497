"""A session: state, jobs, deadlines, output and access, in the best layer that the machine has."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.disks import PAGE, fill, small_disk
from tests.support.shells import processes_with
from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.sandbox import session_directory as places
from toolgate.shell import ShellOptions, ShellSession
from toolgate.workspace import Workspace


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ShellSession]:
    async with ShellSession(Workspace(tmp_path)) as made:
        yield made


async def lines(session: ShellSession, command: str) -> list[str]:
    return (await session.execute(command)).stdout.splitlines()


async def test_the_result_has_the_contracts_three_fields(session: ShellSession) -> None:
    result = await session.execute("echo out; echo err >&2; exit 4")

    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 4)


async def test_every_kind_of_state_carries_over(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "d e").mkdir()
    await session.execute(
        "cd 'd e'; export E='a b'; V=$'x\\ny'; L=(1 'two three'); declare -A M=([k]='v w'); declare -i N=5; umask 027;"
        "f() { echo \"f:$1\"; }; alias hi='echo hello'; set -o pipefail; shopt -s nullglob extglob; readonly R=1"
    )
    seen = await lines(
        session,
        'pwd; echo "$E|$V|${L[1]}|${M[k]}"; N+=1; echo $N; f x; hi; set -o | grep -c "pipefail.*on"; echo *.none;'
        "umask; R=2 2>/dev/null || echo readonly; bash -c 'echo $E'",
    )

    assert seen == [f"{tmp_path}/d e", "a b|x", "y|two three|v w", "6", "f:x", "hello", "1", "", "0027"]


async def test_a_read_only_variable_stays_read_only(session: ShellSession) -> None:
    await session.execute("readonly R=1")

    assert (await session.execute("R=2; echo not reached")).exit_code == 1


async def test_unset_is_state_too(session: ShellSession) -> None:
    await session.execute("A=1; f() { :; }; alias x=y")
    await session.execute("unset A LANG; unset -f f; unalias x")

    assert await lines(session, 'echo "${A-none} ${LANG-none}"; type f x 2>&1 | grep -c "not found"') == [
        "none none",
        "2",
    ]


async def test_pushd_and_cd_dash_work_across_commands(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    await session.execute("pushd a")

    assert await lines(session, "popd >/dev/null; pwd; cd - >/dev/null; pwd") == [str(tmp_path), f"{tmp_path}/a"]


async def test_a_directory_that_is_gone_is_said_and_left(session: ShellSession, tmp_path: Path) -> None:
    await session.execute("mkdir gone; cd gone")
    (tmp_path / "gone").rmdir()
    await session.execute("true")
    result = await session.execute("pwd")

    assert result.stdout == f"{tmp_path}\n"


async def test_errexit_carries_over_and_ends_a_command(session: ShellSession) -> None:
    await session.execute("set -e")
    result = await session.execute("false; echo not reached")

    assert (result.stdout, result.exit_code) == ("", 1)
    assert (await session.execute("set +e; false; echo reached")).stdout == "reached\n"


async def test_tracing_does_not_show_what_loads_a_command(session: ShellSession) -> None:
    await session.execute("set -x")

    assert (await session.execute("echo a")).stderr == "++ echo a\n"


async def test_a_commands_own_exit_trap_runs_and_state_is_kept(session: ShellSession) -> None:
    result = await session.execute("trap 'echo bye' EXIT; A=1")

    assert (result.stdout, await lines(session, "echo $A")) == ("bye\n", ["1"])


async def test_restart_forgets_everything(session: ShellSession, tmp_path: Path) -> None:
    await session.execute("mkdir s; cd s; export A=1; f() { :; }")
    await session.restart()

    assert await lines(session, "pwd; echo ${A-none}; type f 2>/dev/null || echo none") == [
        str(tmp_path),
        "none",
        "none",
    ]


async def test_a_state_that_does_not_load_is_given_up(session: ShellSession, monkeypatch: pytest.MonkeyPatch) -> None:
    await session.execute("export A=1; f() { :; }")
    monkeypatch.setattr("toolgate.shell.command_run._LOADING", 3.0)  # long enough for a shell on a busy machine
    history = session._history
    history.keep("write", replace(history.latest, functions=b"while :; do :; done\n"))

    assert await lines(session, "echo $A") == ["1"]


async def test_commands_queue_in_the_order_of_their_calls(session: ShellSession) -> None:
    calls = [session.execute(f"L+=({number}); echo ${{L[@]}}") for number in range(4)]
    results = await asyncio.gather(*calls)

    assert [result.stdout for result in results] == ["0\n", "0 1\n", "0 1 2\n", "0 1 2 3\n"]


async def test_output_streams_as_it_comes(session: ShellSession) -> None:
    seen: list[tuple[str, str]] = []
    await session.execute("echo a; sleep 0.3; echo b >&2", on_output=lambda stream, text: seen.append((stream, text)))

    assert seen == [("stdout", "a\n"), ("stderr", "b\n")]


async def test_a_large_command_is_taken(session: ShellSession) -> None:
    assert await lines(session, "echo '" + "x'\\''y" * 10_000 + "' | wc -c") == ["30001"]


@pytest.mark.parametrize("command", ["a\0b", "\ud800", "x" * 2_000_000])
async def test_a_command_that_no_shell_can_take_is_refused(session: ShellSession, command: str) -> None:
    with pytest.raises(ToolError) as caught:
        await session.execute(command)

    assert caught.value.code is ErrorCode.INVALID_PARAM


@pytest.mark.parametrize("timeout", [0, -1, 601, float("nan"), float("inf")])
async def test_a_deadline_outside_the_bounds_is_refused(session: ShellSession, timeout: float) -> None:
    with pytest.raises(ToolError) as caught:
        await session.execute("true", timeout)

    assert caught.value.code is ErrorCode.INVALID_PARAM


async def test_a_job_outlives_its_call_and_is_listed(session: ShellSession) -> None:
    started = await session.execute("echo begun; read -t 0.3 <> <(:); echo ended; exit 5", background=True)
    assert started.job_id == "job-1"
    assert started.exit_code is None
    info = await session.jobs.wait("job-1", 20)

    assert (info.running, info.exit_code) == (False, 5)
    assert session.jobs.output("job-1")[0] == "begun\nended\n"
    assert [job.id for job in session.jobs.list()] == ["job-1"]


async def test_a_job_does_not_change_the_sessions_state(session: ShellSession) -> None:
    await session.execute("A=1")
    await session.execute("A=2", background=True)
    await session.jobs.wait("job-1", 20)

    assert await lines(session, "echo $A") == ["1"]


async def test_a_job_that_is_stopped_takes_its_children_with_it(session: ShellSession) -> None:
    await session.execute("setsid sleep 987654.25 & sleep 987654.25", background=True)
    while not processes_with("987654.25"):
        await asyncio.sleep(0.02)
    info = await session.jobs.stop("job-1")

    assert not info.running
    assert processes_with("sleep 987654.25") == []


async def test_jobs_end_with_the_session(tmp_path: Path) -> None:
    async with ShellSession(Workspace(tmp_path)) as session:
        await session.execute("sleep 876543.25", background=True)
        while not processes_with("876543.25"):
            await asyncio.sleep(0.02)

    assert processes_with("876543.25") == []


async def test_a_command_can_be_handed_over_at_its_deadline(session: ShellSession) -> None:
    result = await session.execute("echo first; sleep 1; echo second", 0.5, to_background=True)

    assert (result.stdout, result.job_id, result.timed_out) == ("first\n", "job-1", False)
    assert (await session.execute("echo next")).stdout == "next\n"
    await session.jobs.wait("job-1", 20)
    assert session.jobs.output("job-1")[0] == "first\nsecond\n"


async def test_the_lines_of_a_jobs_errors_are_counted_once(session: ShellSession) -> None:
    result = await session.execute("echo one >&2; echo two >&2", background=True)
    assert result.job_id is not None
    await session.jobs.wait(result.job_id, 20)

    assert session.jobs.run(result.job_id).stderr.lines == 2


async def test_jobs_have_a_limit(tmp_path: Path) -> None:
    async with ShellSession(Workspace(tmp_path), options=ShellOptions(jobs=1)) as session:
        await session.execute("sleep 60", background=True)
        with pytest.raises(ToolError, match="limit"):
            await session.execute("sleep 60", background=True)


async def test_an_unknown_job_names_the_known_ones(session: ShellSession) -> None:
    with pytest.raises(ToolError, match="Known jobs: none"):
        session.jobs.get("job-7")


async def test_closing_ends_a_running_command(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path))
    running = asyncio.ensure_future(session.execute("sleep 765432.25"))
    while not processes_with("765432.25"):
        await asyncio.sleep(0.02)
    await session.close()

    with pytest.raises(ToolError, match="closed"):
        await running
    assert processes_with("765432.25") == []


async def test_code_of_a_lower_access_is_not_sourced_under_a_higher_one(session: ShellSession) -> None:
    await session.execute("w() { echo from write; }; P=plain")
    await session.execute(
        "ls() { echo evil; }; alias cat='echo evil'; export E=data; export PATH=/evil:$PATH", access="read"
    )
    result = await session.execute("type ls | head -1; alias; echo $E; w; echo $P")
    view = session.view("write")

    assert result.stdout == "ls is /usr/bin/ls\ndata\nfrom write\nplain\n"
    assert [name for name, _ in view.changes] == ["PATH", "E"]
    assert view.functions == frozenset({"w"})


async def test_functions_do_not_climb_as_exported_ones_either(session: ShellSession) -> None:
    await session.execute("f() { echo evil; }; export -f f", access="read")

    assert (await session.execute("bash -c f; env | grep -c BASH_FUNC")).stdout == "0\n"


async def test_code_of_a_higher_access_may_be_used_under_a_lower_one(session: ShellSession) -> None:
    await session.execute("f() { echo hi; }")

    assert (await session.execute("f", access="read")).stdout == "hi\n"


async def test_a_session_closes_its_descriptors_and_processes(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    async with ShellSession(workspace) as session:
        await session.execute("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        async with ShellSession(workspace) as session:
            await session.execute("true")
            await session.execute("true")
            await session.execute("sleep 60", background=True)

    assert len(os.listdir("/proc/self/fd")) <= before


async def test_a_root_that_was_replaced_is_not_entered(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with ShellSession(Workspace(root)) as session:
        await session.execute("true")
        root.rename(tmp_path / "moved")
        root.mkdir()
        with pytest.raises(ToolError) as caught:
            await session.execute("touch f")

    assert caught.value.code is ErrorCode.CONFLICT
    assert list(root.iterdir()) == []


async def test_state_that_is_too_large_to_be_kept_is_said_in_the_answer(session: ShellSession) -> None:
    await session.execute("small=before")
    lost = await session.execute("small=after; big=$(head -c 5000000 /dev/zero | tr '\\0' x)")
    after = await session.execute('echo "$small"')

    assert lost.exit_code == 0
    assert "toolgate: the shell's state after this command was not kept, because it is larger than 4 MiB" in lost.stderr
    assert (after.stdout, after.stderr) == ("before\n", "")


async def test_state_is_kept_although_there_is_no_room_for_files(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with pytest.MonkeyPatch.context() as patch, small_disk(shared, 64 * PAGE, os.geteuid()):
        patch.setattr(places, "_IN_MEMORY", (str(shared),))
        (tmp_path / "root").mkdir()
        async with ShellSession(Workspace(tmp_path / "root")) as session:
            await session.execute("small=before")
            fill(shared, 0)
            kept = await session.execute("small=after; big=$(head -c 100000 /dev/zero | tr '\\0' x)")
            (shared / "filler").unlink()
            after = await session.execute('echo "$small ${#big}"')

    assert kept.stderr == ""
    assert (after.stdout, after.stderr) == ("after 100000\n", "")
