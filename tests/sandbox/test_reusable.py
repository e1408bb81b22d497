"""A sandbox that is used again: what the next command finds, and what ends the sandbox."""

import asyncio
import errno
import os
import select
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.sandbox.kit import VIEWED, python
from tests.support.shells import CANARY, Shells, processes_with
from toolgate.protocol.plan import Access
from toolgate.sandbox.mount_watch import MountWatch
from toolgate.sandbox.reusable import ReusableSandbox
from toolgate.shell.options import ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession

WHICH = "echo $(readlink /proc/self/ns/pid) $(cut -d ' ' -f 22 /proc/1/stat)"
"""Names the sandbox: its PID namespace, and when its first process began, because the names are used again."""
FOREVER = f"9{os.getpid()}.25"
"""Seconds, as only this test process sleeps."""
SHARED_MEMORY = """
assert libc.shmget(0, 4096, 0o1600) >= 0
"""
CLOSED_CONNECTION = """
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
accepted, _ = server.accept()
for one in (client, accepted, server):
    one.close()
"""
SLICE = """
attributes = struct.pack("IIQiIQQQII", 56, 0, 0, os.getpriority(os.PRIO_PROCESS, 1), 0, 100_000_000, 0, 0, 0, 0)
assert call((314, 274), 1, attributes, 0) == 0
"""
ACCESS_LIST = """
nobody_may = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 0, 0xFFFFFFFF) for tag in (1, 4, 32))
os.setxattr("/dev/shm", "system.posix_acl_default", nobody_may)
"""
SMALL_PIPE = "fcntl.fcntl(os.open('/run/toolgate/state', os.O_WRONLY), 1031, 4096)"
PIPE_SIZE = "print(fcntl.fcntl(os.open('/run/toolgate/state', os.O_WRONLY), 1032))"
LABEL = """
request = socket.inet_pton(10, "::1") + struct.pack("!I", 0x12345) + struct.pack("=BBHHHI", 0, 1, 1, 6, 6, 0)
socket.socket(10, 1).setsockopt(41, 32, request)
"""
DISK_PRIORITY = "assert call((251, 30), 1, 1, 3 << 13) == 0"


@pytest.fixture(autouse=True)
def own_mounts(shells: Shells) -> None:
    """Whatever is mounted on the host ends a waiting sandbox, and other tests mount small disks."""
    shells.own_mounts = True


async def settled(session: ShellSession) -> None:
    """Wait until a sandbox waits for the next command, and nothing may change which one it is.

    The last answer counts as long ago: commands that follow each other quickly get a second sandbox.
    """
    session._answered = 0.0
    starter, _ = session._parts()
    while True:
        await asyncio.sleep(0.005)
        if session._preparing is not None:  # during a command, it would start a second sandbox
            continue
        sandboxes = starter._sandboxes._sandboxes
        if starter._spares or (any(one.is_idle for one in sandboxes) and not any(map(is_busy, sandboxes))):
            return


def is_busy(sandbox: ReusableSandbox) -> bool:
    """Whether the next moment may change which sandbox the next command gets."""
    return sandbox.is_clearing_up or not (sandbox.is_idle or sandbox.is_retired or sandbox.was_ready)


def run_settled(
    shells: Shells, *lines: str, access: Access = "write", between: Callable[[], object] = lambda: None
) -> list[CommandResult]:
    """Run a first command, which prepares a sandbox, and then these, each when a sandbox waits for it."""

    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 60, access)
        results = []
        for line in lines:
            await settled(session)
            results.append(await session.execute(line, 60, access))
            between()
        return results

    return shells.run(script)


def same_sandbox(results: list[CommandResult]) -> bool:
    """Whether all commands printed the same namespace, in their last lines."""
    assert all(result.exit_code == 0 for result in results), results
    return len({result.stdout.splitlines()[-1] for result in results}) == 1


@VIEWED
@pytest.mark.parametrize("access", ["read", "write"])
def test_one_command_after_another_runs_in_the_same_sandbox(shells: Shells, access: Access) -> None:
    assert same_sandbox(run_settled(shells, WHICH, WHICH, WHICH, access=access))


@VIEWED
def test_commands_with_the_network_of_the_host_have_sandboxes_of_their_own(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[CommandResult]:
        return [await session.execute(WHICH, 60, "full") for _ in range(3)]

    assert len({result.stdout for result in shells.run(script)}) == 3


@VIEWED
def test_what_a_command_leaves_running_has_ended_before_the_next_one(shells: Shells) -> None:
    left = f"(setsid sleep {FOREVER} &); sleep {FOREVER} & disown; "
    first, second = run_settled(shells, f"{left}{WHICH}", f"cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; {WHICH}")

    assert FOREVER not in second.stdout
    assert same_sandbox([first, second])
    assert processes_with(FOREVER) == []


@VIEWED
@pytest.mark.parametrize(
    "trace",
    [
        pytest.param("echo left > /dev/shm/left", id="a file in memory"),
        pytest.param("prlimit --pid 1 --nofile=128:128", id="a limit of the first process"),
        pytest.param("renice 19 1", id="its priority"),
        pytest.param("taskset -p 1 1", id="its processors"),
        pytest.param(python(DISK_PRIORITY), id="its disk priority"),
        pytest.param(python(SLICE), id="its scheduling"),
        pytest.param("chmod 700 /dev/shm", id="the mode of a directory in memory"),
        pytest.param(python(SMALL_PIPE), id="the size of the state's pipe"),
        pytest.param(python(LABEL), id="a label that is still reserved"),
        pytest.param(python(ACCESS_LIST), id="who may use files that are made there"),
        pytest.param(python(SHARED_MEMORY), id="shared memory"),
        pytest.param(python(CLOSED_CONNECTION), id="a port that is not free yet"),
    ],
)
def test_a_sandbox_in_which_something_was_left_is_not_used_again(shells: Shells, trace: str) -> None:
    look = "cd /dev/shm; ls -ld . | cut -c 1-10; ls; > new; ls -l new | cut -c 1-10; rm new; cd ~; nice; ulimit -n"
    look += "; tail -n +2 /proc/sysvipc/shm; tail -n +2 /proc/net/ip6_flowlabel"
    look += f"; {python(PIPE_SIZE)}\n:"
    look += "; taskset -p $$ | grep -o '[^ ]*$'"
    before, left, after = run_settled(shells, f"{look}; {WHICH}", f"{trace}\n{WHICH}", f"{look}; {WHICH}")

    assert same_sandbox([before, left])
    assert not same_sandbox([left, after])
    assert after.stdout.splitlines()[:-1] == before.stdout.splitlines()[:-1]


@VIEWED
def test_a_command_cannot_end_stop_or_look_into_the_first_process(shells: Shells) -> None:
    attack = (
        "kill -9 1; kill -STOP 1; kill -TERM 1; for name in environ maps mem fd/0; do head -c 1 /proc/1/$name; done"
    )
    first, second = run_settled(shells, f"{attack}; {WHICH}", WHICH)

    assert same_sandbox([first, second])
    assert first.stderr.count("Permission denied") == 4


@VIEWED
def test_a_command_gets_its_streams_and_no_other_descriptor(shells: Shells) -> None:
    (result,) = run_settled(shells, "cd /proc/self/fd && echo *")

    assert result.stdout == "0 1 2 3\n"  # the last is the directory that is listed


@VIEWED
def test_exit_codes_and_the_state_of_the_shell_are_those_of_each_command(shells: Shells) -> None:
    results = run_settled(shells, "x=1; cd sub; (exit 7)", "kill -9 $$", "echo $x ${PWD##*/}; exit 3", "echo $?")

    assert [result.exit_code for result in results] == [7, 137, 3, 0]
    assert [result.stdout for result in results[2:]] == ["1 sub\n", "0\n"]


@VIEWED
def test_what_is_new_in_the_project_is_protected_from_the_next_command(shells: Shells) -> None:
    def begin_repository() -> None:
        (shells.root / ".git").mkdir(exist_ok=True)
        (shells.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    (shells.root / "sub" / ".git").mkdir()
    before, after = run_settled(shells, WHICH, f"echo > .git/HEAD; {WHICH}", between=begin_repository)

    assert not same_sandbox([before, after])
    assert (shells.root / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"


@VIEWED
def test_a_new_secret_file_is_hidden_from_the_next_command(shells: Shells) -> None:
    shells.guarded = True
    secret = shells.root / ".env"
    before, after = run_settled(
        shells, WHICH, f"cat .env; {WHICH}", between=lambda: secret.write_text("API_KEY=0123456789abcdef\n")
    )

    assert not same_sandbox([before, after])
    assert "0123456789abcdef" not in after.stdout


@VIEWED
@pytest.mark.parametrize("access", ["read", "write"])
def test_a_waiting_shell_does_not_see_new_credentials_in_a_project_that_is_the_home_directory(
    shells: Shells, access: Access
) -> None:
    shells.environment["HOME"] = str(shells.root)
    shells.options = ShellOptions(hidden=(str(shells.root / "policy.toml"),))

    async def script(session: ShellSession) -> str:
        await session.execute("true", 60, access)
        starter, history = session._parts()
        while not (starter._spares and starter._spares[0]._is_checked):
            starter.prepare(access, history.for_access(access), 1)
            await asyncio.sleep(0.005)
        for name in (".netrc", "policy.toml"):
            (shells.root / name).write_text(CANARY)
            (shells.root / name).chmod(0o644)
        return (await session.execute("cat .netrc policy.toml", 60, access)).stdout

    assert shells.run(script) == ""


@VIEWED
def test_a_secret_file_that_is_written_anew_is_hidden_from_the_next_command(shells: Shells) -> None:
    shells.guarded = True
    secret = shells.root / ".env"
    secret.write_text("API_KEY=0123456789abcdef\n")

    async def script(session: ShellSession) -> CommandResult:
        await session.execute("true", 60)
        await settled(session)
        starter, history = session._parts()
        starter.prepare("write", history.for_access("write"), 1)
        while not starter._spares[0]._is_checked:
            await asyncio.sleep(0.005)
        number = secret.stat().st_ino
        for _ in range(200):  # until the file system gives it the same number
            secret.unlink()
            secret.write_text("API_KEY=0123456789abcdef\n")
            if secret.stat().st_ino == number:
                break
        return await session.execute("cat .env", 60)

    assert shells.run(script).stdout == ""


@VIEWED
@pytest.mark.parametrize("change", ["mv one two", "chmod 000 one"])
def test_the_way_to_the_project_is_there_for_the_next_command(shells: Shells, change: str) -> None:
    project = shells.root = shells.root / "one" / "project"
    project.mkdir(parents=True)
    for path in (project, project.parent):
        os.chown(path, shells.uid, shells.uid)
    first, second = run_settled(shells, f"cd {project.parents[1]}; {change}; cd /", f"cd {project} && pwd")

    assert (first.exit_code, second.stdout) == (0, f"{project}\n"), second


@VIEWED
def test_what_is_mounted_on_the_host_is_shown_to_the_next_command(shells: Shells) -> None:
    class Mounted:
        """A host on which something was mounted."""

        def changes(self) -> int:
            return 1

        def close(self) -> None:
            pass

    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 60)
        await settled(session)
        before = await session.execute(WHICH, 60)
        await settled(session)
        views = session._parts()[0].views
        assert views._host_mounts is not None
        views._host_mounts.close()
        views._host_mounts = cast("MountWatch", Mounted())
        return [before, await session.execute(WHICH, 60)]

    assert not same_sandbox(shells.run(script))


@VIEWED
def test_a_directory_that_is_replaced_while_a_shell_waits_is_not_shown_any_more(shells: Shells) -> None:
    beside = shells.evil / "beside"
    beside.mkdir()
    (beside / "name").write_text("old")
    shells.options = ShellOptions(extra=(str(beside),))

    async def script(session: ShellSession) -> list[str]:
        await session.execute("true", 60)
        await settled(session)
        before = await session.execute(f"cat {beside}/name", 60)
        await settled(session)
        beside.rename(beside.with_name("moved"))
        beside.mkdir()
        (beside / "name").write_text("new")
        return [before.stdout, (await session.execute(f"cat {beside}/name", 60)).stdout]

    assert shells.run(script) == ["old", "new"]


@VIEWED
def test_a_shell_whose_view_was_replaced_before_its_command_costs_nothing(shells: Shells) -> None:
    async def script(session: ShellSession) -> CommandResult:
        await session.execute("true", 60)
        await settled(session)
        session._parts()[0].prepare("write", None, 1)
        for spare in session._parts()[0]._spares:
            spare.refusal = "a mount has gone"
            spare.kill()
        return await session.execute("echo ran", 60)

    assert shells.run(script).stdout == "ran\n"


@VIEWED
@pytest.mark.parametrize("trap", ["true", "trap '' TERM"])
def test_after_a_deadline_nothing_is_left_and_the_next_command_runs(shells: Shells, trap: str) -> None:
    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 60)
        await settled(session)
        return [await session.execute(f"{trap}; sleep {FOREVER}", 0.5), await session.execute("echo next", 60)]

    late, after = shells.run(script)

    assert late.timed_out
    assert after.stdout == "next\n"
    assert processes_with(FOREVER) == []


@VIEWED
def test_a_shell_that_was_started_for_another_directory_is_ended_and_its_sandbox_stays(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 60)
        results = []
        for cwd in (None, str(shells.root / "sub"), None):
            await settled(session)
            results.append(await session.execute(f"pwd; {WHICH}", 60, cwd=cwd))
        return results

    results = shells.run(script)

    assert [Path(result.stdout.splitlines()[0]).name for result in results] == ["root", "sub", "root"]
    assert results[0].stdout.splitlines()[1] == results[2].stdout.splitlines()[1]


@VIEWED
def test_the_state_of_the_next_command_is_kept_whatever_the_last_one_did_to_its_pipe(shells: Shells) -> None:
    results = run_settled(shells, "chmod 000 /run/toolgate/state", "cd sub; x=2", "echo ${PWD##*/} $x")

    assert results[2].stdout == "sub 2\n"


@VIEWED
def test_a_lock_on_standard_input_does_not_outlive_a_command(shells: Shells) -> None:
    results = run_settled(shells, "flock -n -x 0", "flock -n -x 0")

    assert [result.exit_code for result in results] == [0, 0]


@VIEWED
def test_no_message_queue_is_left(shells: Shells) -> None:
    make = python('print(libc.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o600, None), ctypes.get_errno())')
    (result,) = run_settled(shells, make)

    assert result.stdout == f"-1 {errno.EACCES}\n"


@VIEWED
def test_a_directory_that_is_replaced_on_the_host_is_not_shown_any_more(shells: Shells) -> None:
    beside = shells.evil / "beside"
    beside.mkdir()
    (beside / "name").write_text("old")
    beside.chmod(0o755)
    shells.options = ShellOptions(extra=(str(beside),))

    def replace() -> None:
        if not beside.with_name("moved").exists():
            beside.rename(beside.with_name("moved"))
            beside.mkdir()
            (beside / "name").write_text("new")

    before, after = run_settled(shells, f"cat {beside}/name", f"cat {beside}/name", between=replace)

    assert (before.stdout, after.stdout) == ("old", "new")


@VIEWED
def test_while_a_job_runs_no_sandbox_is_used_again(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 60)
        await settled(session)
        await session.execute(f"sleep {FOREVER}", background=True)
        return [await session.execute(WHICH, 60) for _ in range(4)]

    assert len({result.stdout for result in shells.run(script)}) == 4


@VIEWED
def test_a_sandbox_whose_first_process_was_killed_fails_no_command(shells: Shells) -> None:
    async def script(session: ShellSession) -> CommandResult:
        await session.execute("true", 60)
        starter, _ = session._parts()
        while not any(one.is_idle for one in starter._sandboxes._sandboxes):
            await asyncio.sleep(0.005)
        first = starter._sandboxes._sandboxes[0].running.first
        assert first is not None
        handle = os.pidfd_open(first)
        os.kill(first, signal.SIGKILL)
        select.select([handle], [], [])  # it has ended, and the event loop does not know yet
        os.close(handle)
        return await session.execute("echo next", 60)

    assert shells.run(script).stdout == "next\n"


@VIEWED
def test_a_restart_while_a_sandbox_starts_does_not_turn_them_off(shells: Shells) -> None:
    async def script(session: ShellSession) -> bool:
        await session.execute("true", 60)
        starter, _ = session._parts()
        starter.prepare("write", None, 1)
        await session.restart()
        await session.execute("true", 60)
        return starter._sandboxes.is_for("write")

    assert shells.run(script)


@VIEWED
def test_a_restart_ends_the_sandboxes(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[CommandResult]:
        await session.execute("true", 60)
        await settled(session)
        before = await session.execute(WHICH, 60)
        await session.restart()
        return [before, await session.execute(WHICH, 60)]

    assert not same_sandbox(shells.run(script))


@VIEWED
def test_descriptors_are_renumbered_even_if_they_stand_in_each_others_way(shells: Shells) -> None:
    words = shlex.quote("exec 9>&1; echo to nine >&9; echo $0")
    (result,) = run_settled(shells, f"bash -c {words} name")

    assert result.stdout == "to nine\nname\n"
