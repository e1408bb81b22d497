"""The processes below one process: finds them, and signals them without hitting an unrelated process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator


def children(pid: int) -> list[int]:
    """Return the direct children of a process; none if it has ended."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return _visible_children(pid) if _exists(pid) else found
    for thread in threads:
        try:
            fd = os.open(f"/proc/{pid}/task/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            text = b""
            while chunk := os.read(fd, 65536):
                text += chunk
        except OSError:
            continue
        finally:
            os.close(fd)
        found += [int(word) for word in text.split()]
    return found


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _visible_children(pid: int) -> list[int]:
    """Return the direct children of a process that `/proc` hides (`hidepid`), because nobody may look into it."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(int(name)) == pid]


def descendants(pid: int) -> Iterator[int]:
    """Yield all processes below one, parents first. Fast forking may hide some: to end all, kill the namespace."""
    waiting, seen = children(pid), {pid}
    while waiting:
        current = waiting.pop(0)
        if current not in seen:
            seen.add(current)
            yield current
            waiting += children(current)


def signal_below(pid: int, number: signal.Signals, *, skip: frozenset[int] = frozenset()) -> None:
    """Send a signal to all processes below one."""
    for current in list(descendants(pid)):
        if current not in skip:
            _send(current, pid, number)


def is_running(pid: int) -> bool:
    """Whether a process may still act: it has neither ended nor been stopped."""
    return _stat(pid)[:1] not in ([], [b"T"], [b"t"], [b"Z"], [b"X"])


def _send(pid: int, ancestor: int, number: signal.Signals) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _is_below(pid, ancestor):  # the PID may have been reused since it was listed
            signal.pidfd_send_signal(handle, number)
    except OSError:  # it has ended
        return
    finally:
        os.close(handle)


def _is_below(pid: int, ancestor: int) -> bool:
    for _ in range(4096):
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
        pid = _parent(pid)
    return False


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _stat(pid: int) -> list[bytes]:
    """Return the fields after the process's name in `/proc/PID/stat`, its state first; none if it has ended."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(fd, 4096).rpartition(b")")[2].split()
    except OSError:
        return []
    finally:
        os.close(fd)
