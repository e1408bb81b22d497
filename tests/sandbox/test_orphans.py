"""A host that is killed: nothing of its commands goes on, and the next one clears away what is left."""

import asyncio
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.support.forks import Child
from tests.support.privileges import run_as
from tests.support.shells import EVERY_LAYER, Shells, make_layer, processes_with
from toolgate.sandbox.orphans import DONE, end_orphans
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


def eventually(condition: Callable[[], bool], seconds: float = 100.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@EVERY_LAYER
@pytest.mark.timeout(160 + 20 * TORTURE)
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
    number = random.randint(10**8, 10**9)
    ours, foreign = f"{DONE}-{number}", f"of-another-program-{number}"
    waiting, held = os.pipe()
    try:
        supervisors = [_waiting_sandbox(waiting, mark) for mark in (ours, foreign)]
        assert eventually(lambda: [len(processes_with(mark)) for mark in (ours, foreign)] == [2, 2])
        end_orphans()
        assert len(processes_with(ours)) == 2  # what is supervised is left alone
        for supervisor in supervisors:
            supervisor.kill()
            supervisor.wait()
        assert eventually(lambda: end_orphans() >= 0 and processes_with(ours) == [])  # or another test did it
        assert len(processes_with(foreign)) == 1  # without this it would wait for ever
    finally:
        os.close(held)
        os.close(waiting)
    assert eventually(lambda: processes_with(foreign) == [])


def _waiting_sandbox(waiting: int, mark: str) -> subprocess.Popen[bytes]:
    options = ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--block-fd", str(waiting)]
    return subprocess.Popen(["bwrap", *options, "true", mark], pass_fds=(waiting,))
