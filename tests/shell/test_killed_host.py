"""A host that is killed: nothing of its commands goes on, and the next one clears away what is left."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.support.forks import Child
from tests.support.privileges import run_as
from tests.support.shells import Shells, make_layer, processes_with
from toolgate.sandbox import control_groups as groups
from toolgate.sandbox.control_groups import ControlGroup
from toolgate.sandbox.orphans import DONE, end_orphans
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.timeout(60 + 20 * TORTURE)
def test_s02_a_host_that_is_killed_while_commands_start_leaves_none_running(shells: Shells) -> None:
    nap = f"{random.randint(10**5, 10**6)}.{random.randint(10**5, 10**6)}"

    def hosts() -> int:
        make_layer(shells.layer)  # tried once, before there is any hurry
        for _ in range(4 * TORTURE):
            host = Child(lambda say: run(shells, nap, say))
            host.line()
            time.sleep(random.random() * 0.15)
            host.kill()
        return 0

    run_as(shells.uid, hosts)

    assert eventually(lambda: processes_with(f"sleep {nap}") == [])


async def run(shells: Shells, nap: str, say: Callable[[str], None]) -> None:
    workspace, layer = Workspace(shells.root), make_layer(shells.layer)
    sessions = [ShellSession(workspace, layer=layer, environment={"PATH": os.environ["PATH"]}) for _ in range(2)]
    say("begins")
    await asyncio.gather(*(session.execute(f"sleep {nap}", access=shells.access) for session in sessions))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap: apt-get install bubblewrap")
def test_a_sandbox_that_was_never_completed_is_ended() -> None:
    """Its supervisor dies before it has let it go on; made so by a descriptor that it waits for."""
    waiting, held = os.pipe()
    mark = f"{DONE}-{random.randint(10**8, 10**9)}"
    words = [
        "bwrap",
        "--unshare-user",
        "--unshare-pid",
        "--ro-bind",
        "/",
        "/",
        "--block-fd",
        str(waiting),
        "true",
        mark,
    ]
    outer = subprocess.Popen(words, pass_fds=(waiting,))
    try:
        assert eventually(lambda: len(processes_with(mark)) == 2)
        assert end_orphans() == 0 or len(processes_with(mark)) == 2  # what is supervised is left alone
        outer.kill()
        outer.wait()
        assert len(processes_with(mark)) == 1
        assert eventually(lambda: end_orphans() >= 0 and processes_with(mark) == [])
    finally:
        os.close(held)
        os.close(waiting)


@pytest.fixture
def group() -> Iterator[ControlGroup]:
    made = ControlGroup(processes=64, memory=1 << 30)
    if not made.limited:
        pytest.skip("no control group can be made here: run as root where one is writable")
    yield made
    made.remove()


def sleeping_in(group: ControlGroup, nap: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(group.wrap(["sleep", nap]))
    assert eventually(lambda: any(str(process.pid) in groups._read(f"{path}/cgroup.procs") for path in group._paths))
    return process


def test_what_is_left_in_a_group_ends_with_it(group: ControlGroup) -> None:
    left = sleeping_in(group, "1000.01")
    group.remove()

    assert left.wait(10) == -signal.SIGKILL
    assert [path for path in group._paths if os.path.exists(path)] == []


def test_the_groups_of_a_killed_host_are_swept_and_those_of_a_living_one_are_not(
    group: ControlGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_YOUNG", 0.0)
    nap = f"1000.{random.randint(10**5, 10**6)}"

    async def host(say: Callable[[str], None]) -> None:
        made = ControlGroup(processes=64, memory=1 << 30)
        sleeping_in(made, nap)
        say(" ".join(made._paths))
        await asyncio.sleep(1000)

    child = Child(host)
    paths = child.line().split()
    living = ControlGroup(processes=64, memory=1 << 30)
    assert [path for path in paths if not os.path.exists(path)] == []
    child.kill()
    ControlGroup(processes=64, memory=1 << 30).remove()

    assert [path for path in paths if os.path.exists(path)] == []
    assert eventually(lambda: processes_with(f"sleep {nap}") == [])
    assert [path for path in (*living._paths, *group._paths) if not os.path.exists(path)] == []
    living.remove()
