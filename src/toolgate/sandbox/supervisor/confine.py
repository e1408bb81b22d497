"""Confine one command, run it, and return its status."""

import os
import signal
import sys
from typing import Any, NoReturn

from toolgate.sandbox.supervisor.init import run_programs
from toolgate.sandbox.supervisor.kernel import (
    PR_SET_DUMPABLE,
    PR_SET_PDEATHSIG,
    drop_privileges,
    prctl,
    take_terminal,
    write_file,
)
from toolgate.sandbox.supervisor.landlock import apply_landlock
from toolgate.sandbox.supervisor.mounts import build_view, enter_namespaces, seal_view
from toolgate.sandbox.supervisor.seccomp import install_filter
from toolgate.sandbox.supervisor.supervise import (
    DEFAULT_SIGNALS,
    FAILED,
    adopt,
    die_with_parent,
    first_of_namespace,
    reap_until_told,
    status_to_code,
    wait_for,
)

TERM = {signal.SIGTERM}
"""Signals that are blocked while there is a child that cannot be ended yet."""


def confine(
    order: dict[str, Any], info_fd: int, parent: int, program: list[str], environment: dict[Any, Any]
) -> NoReturn:
    """Run the program as ordered, and end with its status.

    It ends at once: there is nothing to finish, and Python's own end takes milliseconds.
    """
    os.set_inheritable(info_fd, False)
    if order["mode"] == "namespaces":
        os._exit(in_namespaces(order, info_fd, parent, program, environment))
    os._exit(without_namespaces(order, info_fd, parent, program, environment))


def in_namespaces(
    order: dict[str, Any], info_fd: int, parent: int, program: list[str], environment: dict[Any, Any]
) -> int:
    """With namespaces: the first process of the new namespace supervises, and all others end with it."""
    die_with_parent(parent, signal.SIGKILL)
    enter_namespaces(network=order["network"], join=order["join"])
    signal.pthread_sigmask(signal.SIG_BLOCK, TERM)
    reading, writing = os.pipe()
    first = os.fork()
    if first:
        os.write(info_fd, b'{"child-pid": %d}' % first)
        close_descriptors(but=writing)
        code = reap_until_told(first)
        if code is None:
            os.kill(first, signal.SIGKILL)
            code = status_to_code(os.waitpid(first, 0)[1])
        return code
    os.close(info_fd)
    os.close(writing)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if is_closed(reading):  # the parent died before we asked to die with it
        sys.exit(FAILED)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TERM)
    os.setsid()
    build_view(order["mounts"], order["base"])
    for name, value in order["sysctl"].items():
        set_sysctl(name, value)
    seal_view(order["mounts"])
    drop_privileges()
    if "control" in order:
        restrict(order)
        run_programs(order)
    command = start(order, program, environment)
    close_descriptors()
    return first_of_namespace(command)


def start(order: dict[str, Any], program: list[str], environment: dict[Any, Any]) -> int:
    """Start the command and return its PID. Without a terminal, no copy of this process is made for it.

    Then this process is restricted like the command, and the command must not look into it.
    """
    if order.get("terminal"):
        command = os.fork()
        if not command:
            os.setsid()
            run(order, program, environment)
        return command
    prctl(PR_SET_DUMPABLE, 0)
    restrict(order)
    return os.posix_spawn(program[0], program, environment, setsid=True, setsigdef=DEFAULT_SIGNALS)


def set_sysctl(name: str, value: str) -> None:
    """Set a limit of the namespace. Older kernels do not have it, and the report does not claim it."""
    try:
        write_file(f"/proc/sys/{name}", value)
    except OSError:
        return


def without_namespaces(
    order: dict[str, Any], info_fd: int, parent: int, program: list[str], environment: dict[Any, Any]
) -> int:
    """Without namespaces: this process adopts what the command leaves behind, and ends it."""
    os.close(info_fd)
    adopt()
    signal.pthread_sigmask(signal.SIG_BLOCK, TERM)
    die_with_parent(parent, signal.SIGTERM)
    command = os.fork()
    if not command:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TERM)
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if order["mode"] == "landlock":
            drop_privileges()
        run(order, program, environment)
    close_descriptors()
    return wait_for(command)


def run(order: dict[str, Any], program: list[str], environment: dict[Any, Any]) -> NoReturn:
    """Become the command."""
    try:
        if order.get("terminal"):
            take_terminal()
        restrict(order)
        for number in DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(program[0], program, environment)
    except OSError as error:
        os.write(2, f"toolgate: the command cannot be started: {error}\n".encode())
    os._exit(FAILED)


def restrict(order: dict[str, Any]) -> None:
    """Give up what the command must not do."""
    os.chdir(order["directory"])
    if order["grants"]:
        network = order["network"]
        sockets = network or order["mode"] == "namespaces"  # loopback in its own network namespace
        apply_landlock(order["grants"], network=network, sockets=sockets)
    if "filter" in order:
        install_filter(order["filter"])


def is_closed(fd: int) -> bool:
    """Whether nobody holds the other end of a pipe."""
    os.set_blocking(fd, False)
    try:
        return not os.read(fd, 1)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def close_descriptors(but: int = -1) -> None:
    """Close all descriptors except `but`: they belong to the command."""
    os.closerange(0, max(but, 0))
    os.closerange(but + 1, 1 << 20)
