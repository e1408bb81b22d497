"""Landlock: file rights, granted beneath directories and never revoked."""

import ctypes
import os
import stat

from toolgate.sandbox.supervisor.kernel import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING = EXECUTE | READ_FILE | READ_DIR
RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights, counted from the first bit, each version of Landlock knows; 16 from version 5 on."""
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
O_PATH = 0x200000


def landlock_abi() -> int:
    """Return the kernel's version of Landlock; 0 if it has none."""
    try:
        return syscall("landlock", CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def apply_landlock(grants: list[list[str]], *, network: bool, sockets: bool) -> None:
    """Allow this process only the granted files: `(path, rights)` with rights out of `list`, `read` and `write`.

    Without `sockets` it opens no TCP connection; without `network` it reaches no abstract socket of another process.
    Older kernels do not know these two limits.
    """
    abi = landlock_abi()
    known = (1 << RIGHTS_BY_ABI.get(abi, 16)) - 1
    handled_net = scoped = 0
    size = 8
    if abi >= 4:
        size = 16
        handled_net = 0 if sockets else BIND_TCP | CONNECT_TCP
    if abi >= 6:
        size = 24
        scoped = SCOPE_SIGNALS if network else SCOPE_SIGNALS | SCOPE_ABSTRACT_SOCKETS
    attributes = (ctypes.c_uint64 * 3)(known, handled_net, scoped)
    ruleset = syscall("landlock", CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    rights = {"list": READ_DIR, "read": READING, "write": known}
    for path, right in grants:
        grant(ruleset, path, rights[right] & known)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall("landlock", RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def grant(ruleset: int, path: str, rights: int) -> None:
    """Add one rule. A path that no longer exists needs none."""
    try:
        fd = os.open(path, O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= ON_FILES
        rule = rights.to_bytes(8, "little") + fd.to_bytes(4, "little")
        syscall("landlock", ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(fd)
