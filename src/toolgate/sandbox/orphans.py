"""Ends sandboxes whose supervisor died during their start. They would wait forever."""

from __future__ import annotations

import os
import re
import signal

DONE = "toolgate-state-is-written"
"""The second argument of a shell that has written its state. It marks command lines of this runtime."""
_FIRST_OF_NAMESPACE = re.compile(rb"^NSpid:\s+\d+(?:\s+\d+)*\s+1$", re.MULTILINE)
_PARENT = re.compile(rb"^PPid:\s+(\d+)$", re.MULTILINE)
_USER = re.compile(rb"^Uid:\s+(\d+)\s", re.MULTILINE)


def end_orphans() -> int:
    """End sandboxes whose host was killed during their start; return how many."""
    return sum(_end(name) for name in os.listdir("/proc") if name.isdigit() and _is_orphan(name))


def _is_orphan(pid: str) -> bool:
    """Whether this is the first process of a sandbox of this user's runtime, without a supervisor as its parent."""
    if _read(f"/proc/{pid}/comm") != b"bwrap\n":
        return False
    status = _read(f"/proc/{pid}/status")
    user, parent = _USER.search(status), _PARENT.search(status)
    if user is None or parent is None or not _FIRST_OF_NAMESPACE.search(status):
        return False
    if os.getuid() not in (0, int(user[1])):
        return False
    supervised = _read(f"/proc/{parent[1].decode()}/comm") == b"bwrap\n"
    return not supervised and DONE.encode() in _read(f"/proc/{pid}/cmdline")


def _end(pid: str) -> bool:
    try:
        handle = os.pidfd_open(int(pid))
    except OSError:
        return False
    try:
        if not _is_orphan(pid):  # the PID was reused
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(fd)
