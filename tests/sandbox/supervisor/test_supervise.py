"""The supervisor as a parent: it ends everything when it is told to, whenever that is."""

import os
import subprocess
import sys

import pytest

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
