"""A program that waits for what is typed is told from one that is busy."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from toolgate.process.terminal_input import waits_for_input

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program in a terminal, and returns the terminal when the program has printed something."""
    started: list[tuple[subprocess.Popen[bytes], int]] = []

    def run(*words: str) -> int:
        master, slave = pty.openpty()
        process = subprocess.Popen(["setsid", "-c", *words], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        started.append((process, master))
        assert select.select([master], [], [], 30)[0]
        return master

    yield run
    for process, master in started:
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(master)


def becomes_true(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "echo ready; exec cat"],
        ["sh", "-c", "echo ready; cat; echo end"],
        ["bash", "--norc", "--noprofile", "-i"],
        [sys.executable, "-c", "input('ready')"],
        [sys.executable, "-c", "import select; print('ready'); select.select([0], [], [])"],
    ],
)
def test_a_program_that_reads_its_terminal_waits_for_input(start: Start, words: list[str]) -> None:
    terminal = start(*words)

    assert becomes_true(lambda: waits_for_input(terminal))


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "echo ready; exec sleep 60"],
        ["sh", "-c", "echo ready; sleep 60 | cat"],
        [sys.executable, "-c", "import select; print('ready'); select.select([0], [], [], 60)"],
        [sys.executable, "-c", "import os, select; print('ready'); select.select([0, os.pipe()[0]], [], [])"],
        [sys.executable, "-c", "print('ready')\nwhile True: pass"],
    ],
)
def test_a_program_that_sleeps_works_or_waits_for_something_else_does_not(start: Start, words: list[str]) -> None:
    terminal = start(*words)
    looks = []
    for _ in range(20):
        looks.append(waits_for_input(terminal))
        time.sleep(0.005)

    assert not any(looks)


def test_a_terminal_that_nobody_uses_and_a_closed_one_are_not_waited_at() -> None:
    master, slave = pty.openpty()
    assert not waits_for_input(master)
    os.close(slave)
    os.close(master)
    assert not waits_for_input(master)
