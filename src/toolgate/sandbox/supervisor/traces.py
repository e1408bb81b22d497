"""What a program can leave in its sandbox besides processes and files: a sandbox with such traces is not used again."""

import ctypes
import os
import stat
from itertools import islice

from toolgate.sandbox.supervisor.kernel import LIBC

SYS_IOPRIO_GET = {"x86_64": 252, "aarch64": 31, "riscv64": 31, "ppc64le": 274, "s390x": 283}
SYS_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275, "riscv64": 275, "ppc64le": 356, "s390x": 346}
SCHED_ATTR_SIZE = 56
IPC = ("shm", "sem", "msg")
TERMINALS = ("/dev/pts", "/dev/pts/ptmx")
MAX_ENTRIES = 1000
"""Most entries of a directory in memory that are compared. At the start it holds only mount points."""
TCP = {"TCP:": (2, 6), "TCP6:": (2,)}
"""Which words of a line count sockets: those in use, and those that were closed but keep their port for a while."""


def traces(memory: list[str], *, own_network: bool) -> tuple[object, ...]:
    """Return everything that a program may have changed, to be compared with an earlier result.

    `memory` are the directories in memory that programs can write. A program with the user of this process can change
    its priority and limits, which the next program would inherit.
    """
    return (
        scheduling(),
        os.sched_getaffinity(0),
        disk_priority(),
        read("/proc/self/limits"),
        *(read(f"/proc/sysvipc/{name}") for name in IPC),
        *((place.f_bfree, place.f_ffree) for place in map(os.statvfs, memory)),
        *(entry for path in memory for entry in entries_in_memory(path)),
        *(owner_and_mode(path) for path in TERMINALS),
        *(sockets() if own_network else ()),
    )


def scheduling() -> bytes:
    """Return how the kernel schedules this process; empty if the machine's number for that call is not known."""
    number = SYS_SCHED_GETATTR.get(os.uname().machine)
    if number is None:
        return b""
    found = ctypes.create_string_buffer(SCHED_ATTR_SIZE)
    LIBC.syscall(ctypes.c_long(number), 0, found, ctypes.c_uint(SCHED_ATTR_SIZE), 0)
    return found.raw


def entries_in_memory(top: str) -> list[tuple[object, ...]]:
    """Return what is in a directory in memory, and who may use it. A mount in it is only identified.

    A program can rename the directories on the way to a mount point, or close them to the next one.
    """
    found: list[tuple[object, ...]] = [(top, *owner_and_mode(top), *attributes(top))]
    device, waiting = os.stat(top).st_dev, [top]
    while waiting and len(found) < MAX_ENTRIES:
        try:
            with os.scandir(waiting.pop()) as directory:
                entries = list(islice(directory, MAX_ENTRIES))
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                is_here = info.st_dev == device
                rights = (*owner_and_mode(entry.path), *attributes(entry.path)) if is_here else ()
                found.append((entry.path, info.st_dev, info.st_ino, *rights))
                if is_here and stat.S_ISDIR(info.st_mode):
                    waiting.append(entry.path)
        except OSError:  # it has been closed, and its mode shows that
            continue
    return found


def attributes(path: str) -> list[str]:
    """Return the names of a file's extended attributes: access lists are among them."""
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError:  # this kernel has none in memory
        return []


def owner_and_mode(path: str) -> tuple[int, ...]:
    """Return who owns a path and who may use it; empty if it does not exist."""
    try:
        info = os.lstat(path)
    except OSError:
        return ()
    return info.st_uid, info.st_gid, info.st_mode


def disk_priority() -> int:
    """Return this process's priority when it uses a disk; -1 if the machine's number for that call is not known."""
    number = SYS_IOPRIO_GET.get(os.uname().machine)
    return -1 if number is None else int(LIBC.syscall(ctypes.c_long(number), 1, 0))


def sockets() -> tuple[bytes, ...]:
    """Return what is in use in this network namespace, also sockets that are closed but keep their port.

    Unix sockets that were sent through each other stay for a moment, with the files that were sent with them. A label
    of IPv6 is reserved for some seconds longer than its socket.
    """
    lines = (read("/proc/net/sockstat") + read("/proc/net/sockstat6")).splitlines()
    counted = ((line.split(), TCP.get(line.split(b" ", 1)[0].decode(), ())) for line in lines)
    connections = (words[place] for words, places in counted for place in places)
    return (*connections, read("/proc/net/unix"), read("/proc/net/ip6_flowlabel"))


def read(path: str) -> bytes:
    """Return the text of a small kernel file; empty if the kernel does not have it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)
