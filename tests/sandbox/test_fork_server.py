"""The process that forks a supervisor for every command, as root and as nobody."""

import asyncio
import errno
import fcntl
import os
import select
import signal
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.privileges import UIDS, run_as
from tests.support.shells import Shells, shells_for
from toolgate.process import tree
from toolgate.process.start import Process, start_process
from toolgate.sandbox.fork_server import ForkServer, ForkServers
from toolgate.sandbox.supervisor.messages import MAX_DESCRIPTORS
from toolgate.shell.session import ShellSession

T = TypeVar("T")
OFF = {"mode": "off", "directory": "/", "grants": (), "network": True}
each_user = pytest.mark.parametrize("uid", UIDS)


@pytest.fixture(params=["namespaces", "landlock"])
def layer(request: pytest.FixtureRequest) -> str:
    """The layers that have a fork server."""
    name: str = request.param
    return name


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest, layer: str) -> Iterator[Shells]:
    with shells_for(request.param, layer) as made:
        yield made


def with_server(uid: int, script: Callable[[ForkServer], Awaitable[T]]) -> T:
    """What `script` returns, given a server that is ready."""

    async def run() -> T:
        server = ForkServer(start_process)
        try:
            assert await server.ready()
            return await script(server)
        finally:
            server.close()

    return run_as(uid, lambda: asyncio.run(run()))


def run_program(
    server: ForkServer, *words: bytes, parent: int | None = None, empty: bool = False
) -> tuple[int, int, bytes]:
    """Fork a program; return its parent while it runs, its exit code and what it printed.

    With `empty` it has no input. Otherwise its input ends when its parent is known.
    """
    reading, writing = os.pipe()
    waiting, go = os.pipe()
    told, info = os.pipe()
    asked = {
        "order": OFF,
        "info": info,
        "parent": os.getpid() if parent is None else parent,
        "program": list(words),
        "environment": {b"ONLY": b"this"},
    }
    streams = {1: writing, 2: writing} if empty else {0: waiting, 1: writing, 2: writing}
    forked = server.fork(asked, {**streams, info: info})
    for fd in (waiting, writing, info):
        os.close(fd)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{forked.pid}/status").read_text().splitlines())
    os.close(go)
    printed = b""
    while chunk := os.read(reading, 1 << 16):
        printed += chunk
    os.close(reading)
    os.close(told)
    return int(status["PPid"]), forked.wait(), printed


@each_user
def test_a_fork_is_a_child_of_this_process_with_its_exit_code(uid: int) -> None:
    async def script(server: ForkServer) -> tuple[bool, int, bytes]:
        parent, code, printed = run_program(server, b"/bin/sh", b"-c", b"read x; env; exit 7")
        return parent == os.getpid(), code, printed

    is_child, code, printed = with_server(uid, script)

    assert is_child
    assert code == 7
    assert [line for line in printed.split() if not line.startswith((b"PWD=", b"_=", b"SHLVL=", b"OLDPWD="))] == [
        b"ONLY=this"
    ]


@each_user
def test_a_program_gets_its_standard_streams_and_nothing_else(uid: int) -> None:
    async def script(server: ForkServer) -> bytes:
        run_program(server, b"/bin/sh", b"-c", b"read x; exit 0")
        return run_program(server, b"/bin/ls", b"/proc/self/fd")[2]

    assert with_server(uid, script).split() == [b"0", b"1", b"2", b"3"]  # 3 is the directory itself


@each_user
def test_a_lock_on_empty_input_does_not_outlive_its_program(uid: int) -> None:
    async def script(server: ForkServer) -> bytes:
        printed = run_program(server, b"/bin/sh", b"-c", b"flock -n -x 0; echo $?", empty=True)[2]
        null = os.open("/dev/null", os.O_RDONLY)
        fcntl.flock(null, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(null)
        return printed

    assert with_server(uid, script) == b"0\n"


async def test_too_many_descriptors_on_their_way_end_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork(*_: object) -> None:
        raise OSError(errno.ETOOMANYREFS, "Too many references")

    servers = ForkServers()
    await servers.warm_up(start_process)
    monkeypatch.setattr(ForkServer, "fork", fork)

    assert servers.fork(start_process, {}, {}) is None
    assert len(servers._running) == 1
    servers.close()


@each_user
def test_a_fork_for_a_host_that_is_gone_runs_nothing(uid: int) -> None:
    async def script(server: ForkServer) -> tuple[int, bytes]:
        return run_program(server, b"/bin/echo", b"ran", parent=1)[1:]

    assert with_server(uid, script) == (125, b"")


@each_user
def test_the_server_holds_nothing_and_nobody_looks_into_it(uid: int) -> None:
    async def script(server: ForkServer) -> tuple[int, int, bytes]:
        run_program(server, b"/bin/true")
        pid = server.pid
        stat_uid = os.stat(f"/proc/{pid}/mem").st_uid
        if os.geteuid() != 0:
            with pytest.raises(PermissionError):
                os.listdir(f"/proc/{pid}/fd")
            return stat_uid, 4, b""
        return stat_uid, len(os.listdir(f"/proc/{pid}/fd")), Path(f"/proc/{pid}/environ").read_bytes()

    assert with_server(uid, script) == (0, 4, b"")  # root's, as for every process that cannot be traced


@each_user
def test_a_fork_that_the_host_has_given_up_does_nothing(uid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(server: ForkServer) -> bytes:
        reading, writing = os.pipe()
        told, info = os.pipe()
        asked = {"order": OFF, "info": info, "parent": os.getpid(), "program": [b"/bin/echo", b"ran"]}
        with monkeypatch.context() as patched:
            patched.setattr(struct, "unpack", _no_answer)
            with pytest.raises(TimeoutError):
                server.fork({**asked, "environment": {}}, {1: writing, info: info})
        os.close(writing)
        try:
            return os.read(reading, 100)
        finally:
            for fd in (reading, told, info):
                os.close(fd)

    assert with_server(uid, script) == b""


def _no_answer(*_: object) -> None:
    raise TimeoutError


@each_user
def test_more_descriptors_than_a_message_holds_are_not_sent(uid: int) -> None:
    async def script() -> object:
        servers = ForkServers()
        try:
            await servers.warm_up(start_process)
            return servers.fork(start_process, {}, {number: number for number in range(MAX_DESCRIPTORS - 1)})
        finally:
            servers.close()

    assert run_as(uid, lambda: asyncio.run(script())) is None


@each_user
def test_a_server_that_a_command_waits_for_is_not_ended_with_the_others(uid: int) -> None:
    async def script() -> bool:
        servers = ForkServers()
        waiting = asyncio.ensure_future(servers.warm_up(start_process))
        await asyncio.sleep(0)
        servers.close()
        async with asyncio.timeout(60):
            await waiting
        server = servers._running[start_process]
        works = server.is_ready and run_program(server, b"/bin/sh", b"-c", b"exit 5")[1] == 5
        servers.close()
        return works and not servers._running

    assert run_as(uid, lambda: asyncio.run(script()))


@each_user
def test_ctrl_c_does_not_end_the_server(uid: int) -> None:
    async def script(server: ForkServer) -> int:
        os.kill(server.pid, signal.SIGINT)
        return run_program(server, b"/bin/sh", b"-c", b"exit 5")[1]

    assert with_server(uid, script) == 5


@each_user
def test_a_program_that_is_no_server_is_not_used(uid: int) -> None:
    async def script() -> object:
        servers = ForkServers()
        await servers.warm_up(start_something_else)
        return servers.fork(start_something_else, {}, {})

    assert run_as(uid, lambda: asyncio.run(script())) is None


def start_something_else(_argv: Sequence[str], **options: Any) -> Process:
    return start_process(["/bin/true"], **options)


def servers_below() -> list[int]:
    """The fork servers of this process: they wait for a message on a socket."""
    found = []
    for pid in tree.children(os.getpid()):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"-I" in words and not tree.children(pid):
            found.append(pid)
    return found


def test_a_session_goes_on_after_its_server_was_killed(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[str, str, int]:
        await session.execute("x=kept", access=shells.access)
        killed = 0
        for pid in servers_below():
            os.kill(pid, signal.SIGKILL)
            killed += 1
        first = await session.execute("echo $x", access=shells.access)
        second = await session.execute("echo $x; exit 4", access=shells.access)
        return first.stdout, second.stdout, killed

    first, second, killed = shells.run_apart(script)

    assert killed > 0
    assert (first, second) == ("kept\n", "kept\n")


def test_a_closed_session_leaves_no_server(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[int, int]:
        await session.execute("true", access=shells.access)
        before = len(tree.children(os.getpid()))
        await session.close()
        return before, len(tree.children(os.getpid()))

    before, after = shells.run_apart(script)

    assert before > 0
    assert after == 0


def test_a_command_cannot_reach_the_server(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[str]:
        await session.execute("true", access=shells.access)
        tries = []
        for pid in tree.children(os.getpid()):
            of = f"/proc/{pid}"
            line = f"cat {of}/environ; readlink {of}/fd/*; ls {of}/root/; kill -STOP {pid} && echo worked"
            tries.append((await session.execute(line, access=shells.access)).stdout)
        return tries

    tries = shells.run_apart(script)

    assert tries
    assert set(tries) == {""}


def test_the_server_ends_with_its_host(shells: Shells) -> None:
    read, write = os.pipe()

    async def script(session: ShellSession) -> None:
        await session.execute("true", access=shells.access)
        os.write(write, " ".join(map(str, tree.children(os.getpid()))).encode())
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(AssertionError, match="died without a word"):
        shells.run_apart(script)
    pids = [int(pid) for pid in os.read(read, 4096).split()]
    os.close(read)
    os.close(write)

    assert pids
    handles = [os.pidfd_open(pid) for pid in pids if os.path.exists(f"/proc/{pid}")]
    for handle in handles:
        assert select.select([handle], [], [], 20)[0]
        os.close(handle)
