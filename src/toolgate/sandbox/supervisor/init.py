"""The first process of a sandbox that is used again: it runs one program after another.

A program leaves nothing behind for the next one: its processes are killed, and if it has left a trace in memory or in
this process, the sandbox ends. Files of the private home and temporary directory are kept, as in any other sandbox.
"""

import _socket
import gc
import marshal
import os
import signal
import struct
import sys
from typing import Any, NoReturn

from toolgate.sandbox.supervisor.kernel import PR_SET_DUMPABLE, prctl
from toolgate.sandbox.supervisor.messages import MAX_DESCRIPTORS, READY, read_all, received_descriptors
from toolgate.sandbox.supervisor.supervise import DEFAULT_SIGNALS, FAILED, first_of_namespace
from toolgate.sandbox.supervisor.traces import traces

EXIT_CODE = b"="
"""Precedes the exit code in a message."""
NOTHING_RUNS = b"."
SPOILT = b"-"
"""Something was left: no other program runs here, and this process ends when the host closes the socket."""
EMPTY_INPUT = ((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),)


def run_programs(order: dict[str, Any]) -> NoReturn:
    """Run the program of every message, and say how it ended, until the host closes the socket.

    No program may look into this process. It must be the first of its namespace: it kills all others.
    """
    if os.getpid() != 1:
        sys.exit(FAILED)
    prctl(PR_SET_DUMPABLE, 0)
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the kernel protects this process only from signals without a handler
    os.closerange(3, order["control"])
    os.closerange(order["control"] + 1, 1 << 20)
    os.set_inheritable(order["control"], False)
    control = _socket.socket(fileno=order["control"])
    room = _socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
    at_start = traces(order["memory"], own_network=order["own_network"])
    while traces(order["memory"], own_network=order["own_network"]) == at_start:
        control.send(READY)
        said, carried, _, _ = control.recvmsg(1, room, _socket.MSG_CMSG_CLOEXEC)
        if not said:
            os._exit(0)
        code = run_program(received_descriptors(carried))
        control.send(EXIT_CODE + struct.pack("i", code))
        end_others()
        control.send(NOTHING_RUNS)
    control.send(SPOILT)
    control.recv(1)
    os._exit(0)


def run_program(fds: list[int]) -> int:
    """Start a program with the descriptors that its order names, and return its exit code."""
    order_fd, *received = fds
    try:
        asked: dict[str, Any] = marshal.loads(read_all(order_fd))
        command = os.posix_spawn(
            asked["program"][0],
            asked["program"],
            asked["environment"],
            file_actions=renumber(received, asked["descriptors"]),
            setsid=True,
            setsigdef=DEFAULT_SIGNALS,
        )
    except OSError:
        return FAILED
    finally:
        for fd in fds:
            os.close(fd)
    return first_of_namespace(command)


def renumber(received: list[int], wanted: list[int]) -> list[tuple[Any, ...]]:
    """Return the file actions that give each received descriptor its number: first out of the way, then into place.

    Standard input is empty if none is wanted, and opened anew: a lock on it must not outlive the program.
    The numbers in between are the lowest free ones: the highest wanted one may be the last that the limit allows.
    """
    taken = {0, 1, 2, *received, *wanted}
    free = [number for number in range(len(taken) + len(received)) if number not in taken][: len(received)]
    aside = [(os.POSIX_SPAWN_DUP2, fd, between) for fd, between in zip(received, free, strict=True)]
    into = [(os.POSIX_SPAWN_DUP2, between, number) for between, number in zip(free, wanted, strict=True)]
    closed = [(os.POSIX_SPAWN_CLOSE, between) for between in free]
    return [*aside, *EMPTY_INPUT, *into, *closed]


def end_others() -> None:
    """Kill all other processes of the namespace, and wait for their end."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:  # there is none
        pass
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return
