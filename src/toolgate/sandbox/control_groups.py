"""Control groups: shared limits for all processes of a session, if the machine allows creating a group."""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence

from toolgate.system import fcntl

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_TRIES = 200
_OURS = re.compile(r"toolgate-(\d+)-[0-9a-f]{8}")
_YOUNG = 10.0
"""Seconds within which a runtime locks a group after creating it."""
_FILES = {
    "pids": {"pids.max": "processes"},
    "memory": {"memory.max": "memory", "memory.limit_in_bytes": "memory"},
}


class ControlGroup:
    """The groups of one session, one per hierarchy."""

    def __init__(self, *, processes: int, memory: int) -> None:
        values = {"processes": str(processes), "memory": str(memory)}
        self.limited: set[str] = set()
        """Which of `processes` and `memory` have a limit."""
        self._locks: list[int] = []
        self.entrances: list[int] = []
        """One descriptor per group. A process that writes `0` to it joins, and so does everything that it starts."""
        self._paths = [path for path in _candidates() if self._make(path, values)]
        self.remove: Callable[[], object] = weakref.finalize(self, _remove, self._paths, self._locks, self.entrances)
        """Kill all processes in the groups and remove the groups; also called when the interpreter exits."""

    def memory_kills(self) -> int:
        """How often the kernel killed a process of the group for using too much memory."""
        found = (_read(f"{path}/{name}") for path in self._paths for name in ("memory.events", "memory.oom_control"))
        return sum(int(count) for text in found for count in re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE))

    def _make(self, path: str, values: Mapping[str, str]) -> bool:
        try:
            os.mkdir(path)
        except OSError:
            return False
        limited = {kind for names in _FILES.values() for name, kind in names.items() if _set(path, name, values[kind])}
        if not limited:
            os.rmdir(path)
            return False
        self.limited |= limited
        self._locks.append(_lock(path))
        self.entrances.append(os.open(f"{path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
        return True


def _lock(path: str) -> int:
    """Open a group and lock it while this process lives; -1 if another process has locked it."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return -1
    return fd


def _remove(paths: list[str], *descriptors: list[int]) -> None:
    for path in paths:
        for _ in range(_TRIES):
            try:
                os.rmdir(path)
                break
            except FileNotFoundError:
                break
            except OSError:  # a process is still in it
                _end(path)
                time.sleep(0.01)
    for fd in itertools.chain(*descriptors):
        if fd >= 0:
            os.close(fd)


def _end(group: str) -> None:
    """Kill every process in a group."""
    if _set(group, "cgroup.kill", "1"):
        return
    for pid in _read(f"{group}/cgroup.procs").split():
        try:
            handle = os.pidfd_open(int(pid))
        except OSError:
            continue
        try:
            if pid in _read(f"{group}/cgroup.procs").split():  # the PID may have been reused
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except OSError:
            continue
        finally:
            os.close(handle)


def _sweep(parent: str) -> None:
    """Remove the groups of runtimes that were killed, with all processes in them.

    A group is removed if its runtime's PID does not exist and the group is not locked. The lock matters because the
    runtime may run in another PID namespace.
    """
    for name in os.listdir(parent):
        path, ours = f"{parent}/{name}", _OURS.fullmatch(name)
        if ours is None or os.path.exists(f"/proc/{ours[1]}"):
            continue
        try:
            fd = _lock(path) if time.time() - os.stat(path).st_mtime > _YOUNG else -1
        except OSError:  # another process removed it first
            continue
        if fd >= 0:
            _remove([path], [fd])


def _candidates() -> Iterator[str]:
    """Yield paths for a new group, below the group of this process."""
    name = f"toolgate-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in _mounts_of(controllers):
            if os.access(f"{mount}{path}/cgroup.procs", os.W_OK):
                _sweep(f"{mount}{path}")
                yield os.path.normpath(f"{mount}{path}/{name}")


def _mounts_of(controllers: str) -> Sequence[str]:
    """Where a hierarchy may be mounted. Version 2, which names no controllers, has several usual places."""
    if not controllers:
        return _MOUNTS
    return [f"/sys/fs/cgroup/{controllers}"] if controllers in _FILES else []


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 65536).decode(errors="replace")
    except OSError:  # ENODEV: the group was removed while it was being read
        return ""
    finally:
        os.close(fd)


def _set(group: str, name: str, value: str) -> bool:
    try:
        fd = os.open(os.path.join(group, name), os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(fd, value.encode()) > 0
    except OSError:
        return False
    finally:
        os.close(fd)
