"""Processes are found by descent."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from toolgate.process.tree import children, descendants, is_running, signal_below


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with a child and a grandchild."""
    script = "sh -c 'sleep 60 & echo ready; wait' & wait"
    process = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_children_and_all_below_are_found_parents_first(parent: subprocess.Popen[bytes]) -> None:
    (child,) = children(parent.pid)
    (grandchild,) = children(child)

    assert list(descendants(parent.pid)) == [child, grandchild]


def test_children_of_a_process_that_is_hidden_are_found(
    parent: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (child,) = children(parent.pid)
    real = os.listdir

    def listdir(path: str) -> list[str]:
        if path == f"/proc/{parent.pid}/task":
            raise FileNotFoundError(path)  # as with `hidepid`
        return real(path)

    monkeypatch.setattr(os, "listdir", listdir)

    assert children(parent.pid) == [child]


def test_a_process_that_is_gone_has_no_children_and_does_not_run() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()

    assert children(process.pid) == []
    assert not is_running(process.pid)


def test_a_signal_reaches_everything_below_except_what_is_skipped(parent: subprocess.Popen[bytes]) -> None:
    (child,) = children(parent.pid)
    (grandchild,) = children(child)

    signal_below(parent.pid, signal.SIGSTOP, skip=frozenset({child}))
    os.kill(grandchild, 0)
    while is_running(grandchild):  # the signal is delivered when the process is next scheduled
        os.sched_yield()

    assert is_running(child)
    assert is_running(parent.pid)
