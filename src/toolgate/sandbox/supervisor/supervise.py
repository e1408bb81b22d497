"""The supervisor as a parent: passes on the exit status, ends what is left, ends with the host."""

import os
import signal
import sys
import time

from toolgate.sandbox.supervisor.kernel import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl

FAILED = 125
DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores and programs do not."""
AWAITED = {signal.SIGTERM, signal.SIGCHLD}
"""The host asks to end everything, or has died; a child has ended."""


def die_with_parent(parent: int, number: int) -> None:
    """Get a signal when the parent ends, also if it already has."""
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        sys.exit(FAILED)


def status_to_code(status: int) -> int:
    """Convert a wait status to the shell's convention."""
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def first_of_namespace(command: int) -> int:
    """Reap as the first process of a namespace until the command ends. All other processes end with this one."""
    while True:
        pid, status = os.wait()
        if pid == command:
            return status_to_code(status)


def adopt() -> None:
    """Adopt orphaned descendants, so that none escapes."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def wait_for(command: int) -> int:
    """Reap until the command ends or the host asks to end everything, or dies; then end the rest."""
    code = reap_until_told(command)
    end_all()
    return 128 + signal.SIGTERM if code is None else code


def reap_until_told(child: int) -> int | None:
    """Reap until the child ends, and return its exit code; None if SIGTERM arrives before that.

    The signals stay blocked and are waited for: a handler would not run if its signal came just before a wait that
    blocks.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return status_to_code(status)
        if not pid and signal.sigwait(AWAITED) == signal.SIGTERM:
            return None


def end_all() -> None:
    """Kill all descendants until there is none. Children of a killed process are adopted."""
    while True:
        for pid in below(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        time.sleep(0.001)


def below(pid: int) -> list[int]:
    """Return all descendants."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fd = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                parent = int(os.read(fd, 4096).rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
            finally:
                os.close(fd)
            parents.setdefault(parent, []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
