"""A sandbox that is ended leaves nothing, whenever that is."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shells import processes_with
from toolgate.process import tree
from toolgate.sandbox.bubblewrap import Bubblewrap
from toolgate.sandbox.layer import Wrapper
from toolgate.sandbox.view import View
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


class HalfMade(Bubblewrap):
    """A set-up that never gets further than having a first process, which is tied to nothing yet."""

    def wrap(self, view: View, info_fd: int) -> Wrapper:
        return Wrapper(["/bin/sh", "-c", "sleep 654321.75 & wait"])


async def test_a_sandbox_that_is_ended_while_it_is_set_up_leaves_nothing(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path), layer=HalfMade("/bin/sh", nested=True))
    starter, _ = session._parts()
    starter.prepare("write", None, 1)
    while not tree.children(starter._spares[0]._process.pid):
        await asyncio.sleep(0.01)
    await session.close()

    assert processes_with("654321.75") == []


_TOLD_AT_EVERY_MOMENT = """
import os, random, signal, sys, time
from toolgate.sandbox.supervisor.supervise import wait_for

for _ in range(int(sys.argv[1])):
    reading, writing = os.pipe()
    supervisor = os.fork()
    if not supervisor:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        command = os.fork()
        if not command:
            signal.pause()
        os.write(writing, b"x")
        os._exit(wait_for(command))
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    end = time.perf_counter() + random.random() * 1e-4
    while time.perf_counter() < end:
        continue
    os.kill(supervisor, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(supervisor, 0)[1]) == 128 + signal.SIGTERM
"""


@pytest.mark.torture
def test_a_supervisor_ends_whenever_it_is_told_to() -> None:
    rounds = 1000 * int(os.environ.get("TOOLGATE_TORTURE", "1"))
    ended = subprocess.run(
        [sys.executable, "-c", _TOLD_AT_EVERY_MOMENT, str(rounds)], check=False, timeout=150 * rounds / 1000
    )

    assert ended.returncode == 0
