"""Control groups: limits for all processes of a session together, where the machine lets us make one."""

from __future__ import annotations

import os
import re
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_JOIN = 'for group in $0; do echo 0 > "$group/cgroup.procs" || exit 125; done; exec "$@"'
"""Whoever starts writes itself into the groups first: nothing that it starts can be too early to be counted."""
_TRIES = 200
_OURS = re.compile(r"toolgate-(\d+)-[0-9a-f]{8}")
_STALE = 600.0
"""Seconds after which an empty group of a process that is gone is nobody's; it may only be invisible from here."""
_FILES = {
    "pids": {"pids.max": "processes"},
    "memory": {"memory.max": "memory", "memory.limit_in_bytes": "memory"},
}


class ControlGroup:
    """The groups of one session, one for each hierarchy."""

    def __init__(self, *, processes: int, memory: int) -> None:
        values = {"processes": str(processes), "memory": str(memory)}
        self.limited: set[str] = set()
        """Out of `processes` and `memory`, what really has a limit."""
        self._paths = [path for path in _candidates() if self._make(path, values)]
        self.remove: Callable[[], object] = weakref.finalize(self, _remove, self._paths)
        """Remove the groups, when the last process in them has died; also called when the interpreter ends."""

    def wrap(self, argv: list[str]) -> list[str]:
        """The same program, as a member of the groups."""
        return ["/bin/sh", "-c", _JOIN, " ".join(self._paths), *argv] if self._paths else argv

    def memory_kills(self) -> int:
        """How often the kernel has ended a process of the group for taking too much memory."""
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
        return True


def _remove(paths: list[str]) -> None:
    for path in paths:
        for _ in range(_TRIES):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                break
            except OSError:  # somebody in it still dies
                time.sleep(0.01)


def _sweep(parent: str) -> None:
    """Remove empty groups that a killed runtime left behind."""
    for name in os.listdir(parent):
        owner = _OURS.fullmatch(name)
        if owner is None or os.path.exists(f"/proc/{owner[1]}"):
            continue
        try:
            if time.time() - os.stat(f"{parent}/{name}").st_mtime > _STALE:
                os.rmdir(f"{parent}/{name}")
        except OSError:  # not empty, or somebody else was faster
            continue


def _candidates() -> Iterator[str]:
    """Where a group of ours would be: below the one that this process is in."""
    name = f"toolgate-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        mounts = [f"/sys/fs/cgroup/{controllers}"] if controllers in _FILES else [] if controllers else _MOUNTS
        for mount in mounts:
            if os.access(f"{mount}{path}/cgroup.procs", os.W_OK):
                _sweep(f"{mount}{path}")
                yield os.path.normpath(f"{mount}{path}/{name}")


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 65536).decode(errors="replace")
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
