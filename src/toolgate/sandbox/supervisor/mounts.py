"""The command's view of the file system, and the namespaces that hold it."""

import ctypes
import os
import stat
import struct

from toolgate.sandbox.supervisor.kernel import (
    AT_FDCWD,
    ATTR_NODEV,
    ATTR_NOSUID,
    ATTR_RDONLY,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    LIBC,
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    SYS_PIVOT_ROOT,
    check,
    mount,
    mount_descriptor,
    open_without_links,
    restrict_mount,
    syscall,
    unshare,
    write_file,
)

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
OLD = ".old-root"
O_LOOK = 0x200000 | os.O_NOFOLLOW  # O_PATH


def enter_namespaces(*, network: bool, join: list[int] | None = None) -> None:
    """Leave the host's namespaces. The next child is the first process of the new ones.

    `join` are the descriptors of a network that is shared with other commands.
    """
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS
    own_network = not network and not join
    if join:
        join_network(join)
    leave(flags | CLONE_NEWNET if own_network else flags)
    if own_network:
        raise_loopback()


def leave(flags: int) -> None:
    """Leave namespaces as the same user."""
    uid, gid = os.getuid(), os.getgid()
    unshare(flags)
    write_file("/proc/self/setgroups", "deny")
    write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def make_network() -> None:
    """Make a network namespace with loopback only, and a user namespace that owns it."""
    leave(CLONE_NEWUSER | CLONE_NEWNET)
    raise_loopback()


def join_network(fds: list[int]) -> None:
    """Enter a user namespace and the network that it owns, and close their descriptors."""
    for fd, kind in zip(fds, (CLONE_NEWUSER, CLONE_NEWNET), strict=True):
        check(LIBC.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")
        os.close(fd)


def raise_loopback() -> None:
    """Set up loopback in the new network namespace."""
    fd = check(LIBC.socket(2, 2 | os.O_CLOEXEC, 0), "socket")
    check(LIBC.ioctl(fd, ctypes.c_ulong(0x8914), struct.pack("16sH14x", b"lo", 0x41)), "loopback")
    os.close(fd)


def build_view(mounts: list[tuple[str, str, str, int]], base: str) -> None:
    """Build the view in an empty directory of the host and move into it."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=0755")
    for kind, target, source, source_fd in mounts:
        if source_fd >= 0:
            place_descriptor(kind, base + target, source_fd)
        elif kind != "seal":
            place(kind, base + target, source)
    os.mkdir(f"{base}/{OLD}", 0o700)
    os.chdir(base)
    syscall("pivot_root", SYS_PIVOT_ROOT[os.uname().machine], b".", OLD.encode())
    os.chdir("/")
    check(LIBC.umount2(f"/{OLD}".encode(), MNT_DETACH), "umount")
    os.rmdir(f"/{OLD}")


def seal_view(mounts: list[tuple[str, str, str, int]]) -> None:
    """Make the view's own directories read-only, after everything else."""
    for kind, target, _, _ in mounts:
        if kind == "seal":
            restrict_mount(target, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, recursive=False)


def place(kind: str, target: str, source: str) -> None:
    """One step of the view."""
    if kind == "symlink":
        make_directories(os.path.dirname(target))
        os.symlink(source, target)
        return
    if kind in ("ro", "rw"):
        make_point(target, is_directory=os.path.isdir(source))
        mount(source, target, "", MS_BIND | MS_REC)
        attributes = ATTR_NOSUID | ATTR_NODEV | (ATTR_RDONLY if kind == "ro" else 0)
        restrict_mount(target, attributes, recursive=True)
        return
    make_directories(target)
    if kind == "proc":
        mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    elif kind in ("tmpfs", "shm"):
        mode = "1777" if kind == "shm" else "0755"
        mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, f"size={source},mode={mode}")
    elif kind == "dev":
        make_devices(target)


def place_descriptor(kind: str, target: str, source_fd: int) -> None:
    """Mount what the host has opened. Neither source nor target is reached through a link.

    A descriptor from outside belongs to the host's mounts. Therefore the same path is opened again in here, and must
    lead to the same file.
    """
    wanted = os.fstat(source_fd)
    again = open_without_links(AT_FDCWD, os.readlink(f"/proc/self/fd/{source_fd}"), O_LOOK)
    try:
        found = os.fstat(again)
        if (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino):
            raise OSError(f"{target}: its source was replaced")
        if stat.S_ISDIR(found.st_mode) and not os.path.lexists(target):
            make_directories(target)
        on = open_without_links(AT_FDCWD, target, O_LOOK)
        try:
            mount_descriptor(again, on, ATTR_NOSUID | ATTR_NODEV | (ATTR_RDONLY if kind == "ro" else 0))
        finally:
            os.close(on)
    finally:
        os.close(again)
        os.close(source_fd)


def make_devices(target: str) -> None:
    """Create the devices that every program expects, and no others. Root could otherwise change the host's modes."""
    mount("tmpfs", target, "tmpfs", MS_NOSUID, "size=16m,mode=0755")
    for name in DEVICES:
        make_point(f"{target}/{name}", is_directory=False)
        mount(f"/dev/{name}", f"{target}/{name}", "", MS_BIND)
        restrict_mount(f"{target}/{name}", ATTR_RDONLY | ATTR_NOSUID, recursive=False)  # they can be written to
    for name, goal in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{goal}", f"{target}/{name}")
    os.mkdir(f"{target}/shm", 0o1777)
    os.mkdir(f"{target}/pts", 0o755)
    mount("devpts", f"{target}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{target}/ptmx")


def make_directories(path: str) -> None:
    """`mkdir -p`, readable by all."""
    os.makedirs(path, 0o755, exist_ok=True)


def make_point(path: str, *, is_directory: bool) -> None:
    """Create a mount point."""
    if is_directory:
        make_directories(path)
    elif not os.path.exists(path):
        make_directories(os.path.dirname(path))
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
