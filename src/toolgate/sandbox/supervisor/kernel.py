"""System calls that Python does not offer."""

import ctypes
import os
import sys

if sys.platform == "linux":
    LIBC = ctypes.CDLL(None, use_errno=True)
    LIBC.syscall.restype = ctypes.c_long
else:  # the module can be imported there, and nothing of it is used
    LIBC = None

SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_OPENAT2, SYS_MOUNT_SETATTR = 428, 429, 437, 442
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36
PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_SECUREBITS = 24, 22, 28
KEEP_NOTHING = 0xEF
"""Securebits: root has no rights by its name, keeps none when the user changes, and can raise none; all locked."""
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER = 0x20000, 0x4000000, 0x8000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, 0o2000000  # O_CLOEXEC
MOVE_MOUNT_EMPTY_PATHS = 0x04 | 0x40
RESOLVE_NO_SYMLINKS = 0x04
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4


def check(result: int, what: str) -> int:
    """Return the result of a call, or raise its error."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(what: str, number: int, *arguments: object) -> int:
    """Make a raw system call."""
    return check(LIBC.syscall(ctypes.c_long(number), *arguments), what)


def prctl(option: int, value: int) -> None:
    """`prctl` with one argument."""
    zero = ctypes.c_ulong(0)
    check(LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero), "prctl")


def unshare(flags: int) -> None:
    """Leave namespaces."""
    check(LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """`mount(2)`."""
    texts = [text.encode() or None for text in (source, target, kind)]
    check(
        LIBC.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), data.encode() or None),
        f"mount on {target}",
    )


def restrict_mount(target: str, attributes: int, *, recursive: bool) -> None:
    """Set mount attributes such as read-only, also on everything below if asked."""
    text = ctypes.create_string_buffer(attributes.to_bytes(8, "little") + bytes(24), 32)
    flags = AT_RECURSIVE if recursive else 0
    syscall("mount_setattr", SYS_MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, text, ctypes.c_size_t(32))


def open_without_links(directory: int, path: str, flags: int) -> int:
    """`openat2` that follows no links."""
    how = b"".join(part.to_bytes(8, "little") for part in (flags | os.O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS))
    return syscall(f"open {path}", SYS_OPENAT2, ctypes.c_int(directory), os.fsencode(path), how, ctypes.c_size_t(24))


def mount_descriptor(source: int, target: int, attributes: int) -> None:
    """Mount the source descriptor, with everything below it, on the target descriptor."""
    flags = ctypes.c_uint(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE)
    tree = syscall("open_tree", SYS_OPEN_TREE, ctypes.c_int(source), b"", flags)
    try:
        text = ctypes.create_string_buffer(attributes.to_bytes(8, "little") + bytes(24), 32)
        every = ctypes.c_uint(AT_EMPTY_PATH | AT_RECURSIVE)
        syscall("mount_setattr", SYS_MOUNT_SETATTR, ctypes.c_int(tree), b"", every, text, ctypes.c_size_t(32))
        empty = ctypes.c_uint(MOVE_MOUNT_EMPTY_PATHS)
        syscall("move_mount", SYS_MOVE_MOUNT, ctypes.c_int(tree), b"", ctypes.c_int(target), b"", empty)
    finally:
        os.close(tree)


def drop_privileges() -> None:
    """Drop every capability for good. Programs that root starts get none back either."""
    try:
        prctl(PR_SET_SECUREBITS, KEEP_NOTHING)
    except PermissionError:  # without the right to set them there is nothing to lock
        pass
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    check(LIBC.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def take_terminal() -> None:
    """Make the terminal on standard input the one that controls this process, the first of its session."""
    check(LIBC.ioctl(0, ctypes.c_ulong(0x540E), ctypes.c_int(0)), "terminal")


def write_file(path: str, text: str) -> None:
    """Write a short kernel file."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
