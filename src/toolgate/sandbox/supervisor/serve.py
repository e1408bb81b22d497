"""The fork server: a supervisor that is loaded once, and forks for every command.

It never reads an order itself: the fork does. So the server holds nothing of one command that the next could find. Each
fork is a child of the host process, not of the server (`CLONE_PARENT`), as if the host had started it.
"""

import _socket
import ctypes
import gc
import marshal
import os
import signal
import struct
from typing import Any, NoReturn

from toolgate.sandbox.supervisor.confine import confine
from toolgate.sandbox.supervisor.kernel import LIBC, PR_SET_DUMPABLE, prctl
from toolgate.sandbox.supervisor.messages import MAX_DESCRIPTORS, READY, read_all, received_descriptors
from toolgate.sandbox.supervisor.supervise import FAILED, die_with_parent

SYS_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
CLONE_PARENT = 0x8000


def serve(control_fd: int, parent: int) -> NoReturn:
    """Fork for every message, and answer with the PID or the negative error, until the host closes the socket.

    No other process may look into the server. It stays when somebody presses Ctrl-C; its forks do not.
    """
    die_with_parent(parent, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 0)
    interrupted = signal.SIG_IGN if signal.signal(signal.SIGINT, signal.SIG_IGN) == signal.SIG_IGN else signal.SIG_DFL
    gc.disable()
    control = _socket.socket(fileno=control_fd)
    control.send(READY)
    number, room = ctypes.c_long(SYS_CLONE[os.uname().machine]), _socket.CMSG_SPACE(4 * MAX_DESCRIPTORS)
    while True:
        said, carried, _, _ = control.recvmsg(1, room)
        if not said:
            os._exit(0)
        fds = received_descriptors(carried)
        pid = LIBC.syscall(number, ctypes.c_ulong(CLONE_PARENT | signal.SIGCHLD), None, None, None, None)
        if pid == 0:
            control.close()
            signal.signal(signal.SIGINT, interrupted)
            become_supervisor(fds)
        error = ctypes.get_errno()
        for fd in fds:
            os.close(fd)
        control.send(struct.pack("i", pid if pid > 0 else -error))


def become_supervisor(fds: list[int]) -> NoReturn:
    """Body of a fork: read the order, put the descriptors where it says, and carry it out.

    It begins when the host knows of it. If the host has given it up, another process uses its descriptors.
    """
    order_fd, waiting, *rest = fds
    try:
        if not os.read(waiting, 1):
            os._exit(FAILED)
        prctl(PR_SET_DUMPABLE, 1)  # a user's process writes its own uid_map only then
        asked: dict[str, Any] = marshal.loads(read_all(order_fd))
        for fd in (order_fd, waiting):
            os.close(fd)
        if 0 not in asked["descriptors"]:
            open_empty_input()
        place_descriptors(rest, asked["descriptors"])
        confine(asked["order"], asked["info"], asked["parent"], asked["program"], asked["environment"])
    except Exception as error:  # noqa: BLE001 - the host learns of it only from this line
        os.write(2, f"toolgate: the sandbox cannot be set up: {error}\n".encode(errors="replace"))
    finally:
        os._exit(FAILED)


def open_empty_input() -> None:
    """Replace the server's own empty input, which all forks would share: a lock on it would outlive its program."""
    empty = os.open("/dev/null", os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def place_descriptors(received: list[int], wanted: list[int]) -> None:
    """Give each received descriptor the number that it has in the order, and let programs inherit it."""
    where = dict(zip(wanted, received, strict=True))
    for number in wanted:
        if where[number] == number:
            os.set_inheritable(number, True)
            continue
        for other in wanted:
            if where[other] == number:
                where[other] = os.dup(number)
        os.dup2(where[number], number)
        os.close(where[number])
        where[number] = number
