"""What a program can leave in its sandbox. What follows from it is in `test_reusable`."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.privileges import run_apart
from toolgate.sandbox.supervisor.kernel import CLONE_NEWIPC, CLONE_NEWNET
from toolgate.sandbox.supervisor.traces import traces


def changed_by(action: Callable[[], object], memory: list[str]) -> bool:
    """Whether an action leaves a trace, in a process with a network and System V IPC that no other test changes."""

    def compare() -> bool:
        before = traces(memory, own_network=True)
        kept = action()
        after = traces(memory, own_network=True)
        del kept
        return before != after

    return run_apart(os.getuid(), compare, CLONE_NEWIPC | CLONE_NEWNET)


def test_nothing_leaves_no_trace() -> None:
    assert not changed_by(lambda: None, [])


def test_a_file_in_memory_is_a_trace(tmp_path: Path) -> None:
    place = Path("/dev/shm")
    name = place / f"toolgate-test-{os.getpid()}"
    try:
        assert changed_by(lambda: name.write_text("left"), [str(place)])
    finally:
        name.unlink()


@pytest.mark.parametrize(
    "action",
    [lambda: os.nice(1), lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}), lambda: _limit()],
    ids=["priority", "processors", "limit"],
)
def test_what_the_next_program_would_inherit_is_a_trace(action: Callable[[], object]) -> None:
    assert changed_by(action, [])


def test_an_open_port_is_a_trace() -> None:
    assert changed_by(lambda: socket.create_server(("127.0.0.1", 0)), [])


def _limit() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
