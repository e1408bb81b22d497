"""Whether a program waits for what is typed into its terminal: then it has nothing more to print."""

from __future__ import annotations

import os
import stat

from toolgate.process.tree import descendants

_READS, _SELECTS = {"x86_64": ("0", ("23", "270")), "aarch64": ("63", ("72",))}.get(os.uname().machine, ("", ()))
"""The numbers of `read`, and of `select` and `pselect6`, on this processor."""
_TERMINALS = range(136, 144)
"""Major numbers of pseudo-terminals."""


def waits_for_input(terminal: int) -> bool:
    """Whether a foreground process of a terminal waits for input and for nothing else.

    False if that is not known: on other processors, and where the kernel does not show it.
    """
    try:
        leader = os.tcgetpgrp(terminal)
    except OSError:
        return False
    return leader > 0 and any(_reads_terminal(pid) for pid in (leader, *descendants(leader)))


def _reads_terminal(pid: int) -> bool:
    try:
        fd = os.open(f"/proc/{pid}/syscall", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        number, *arguments = os.read(fd, 4096).decode().split()
    except (OSError, ValueError):  # it has ended
        return False
    finally:
        os.close(fd)
    if number == _READS:
        return arguments[0] == "0x0" and _is_terminal(pid)
    # the first argument: only descriptor 0 is waited for; the fifth: without a time limit
    return number in _SELECTS and (arguments[0], arguments[4]) == ("0x1", "0x0") and _is_terminal(pid)


def _is_terminal(pid: int) -> bool:
    """Whether the process's standard input is a pseudo-terminal."""
    try:
        found = os.stat(f"/proc/{pid}/fd/0")
    except OSError:
        return False
    return stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) in _TERMINALS
