"""What a program can leave in its sandbox. What follows from it is in `test_reusable`."""

import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.privileges import run_apart
from toolgate.sandbox.supervisor.kernel import CLONE_NEWIPC, CLONE_NEWNET
from toolgate.sandbox.supervisor.traces import traces

IPV6_FLOWLABEL_MGR = 32


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


def test_sockets_that_hold_each_other_are_a_trace() -> None:
    def send_both_through_each_other() -> None:
        pair = socket.socketpair()
        for one in pair:
            socket.send_fds(one, [b"x"], [other.fileno() for other in pair])

    assert changed_by(send_both_through_each_other, [])


def test_a_label_that_outlives_its_socket_is_a_trace() -> None:
    assert changed_by(reserve_label, [])


def reserve_label() -> None:
    """Reserve a flow label of IPv6 for six seconds."""
    request = (
        socket.inet_pton(socket.AF_INET6, "::1") + struct.pack("!I", 0x12345) + struct.pack("=BBHHHI", 0, 1, 1, 6, 6, 0)
    )
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, request)


def _limit() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
