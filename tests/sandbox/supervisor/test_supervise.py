"""The supervisor as a parent: it ends everything when it is told to, whenever that is."""

import os
import subprocess
import sys

import pytest

_TOLD_AT_EVERY_MOMENT = """
import os, random, signal, sys, time
from toolgate.sandbox.supervisor.supervise import wait_for

rounds, deadline = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
while rounds and time.monotonic() < deadline:  # a supervisor that does not end holds this up for ever
    rounds -= 1
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
    size = int(os.environ.get("TOOLGATE_TORTURE", "1"))
    command = [sys.executable, "-c", _TOLD_AT_EVERY_MOMENT, str(1000 * size), str(60 * size)]
    ended = subprocess.run(command, check=False, timeout=150 * size)

    assert ended.returncode == 0
