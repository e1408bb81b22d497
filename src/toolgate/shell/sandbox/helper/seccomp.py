"""A system call filter that takes sockets away where there is no network namespace to do it."""

import ctypes
import os
import struct

from toolgate.shell.sandbox.helper.kernel import LIBC, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, check, prctl

ARCHITECTURES = {
    "x86_64": (0xC000003E, (41, 425)),
    "aarch64": (0xC00000B7, (198, 425)),
    "riscv64": (0xC00000F3, (198, 425)),
}
"""Machine → its number, and the numbers of `socket` and `io_uring_setup` (which could open sockets past the filter)."""
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, KILL, DENIED = 0x7FFF0000, 0x80000000, 0x00050000 | 13  # EACCES
X32 = 0x40000000


def can_filter() -> bool:
    """Whether this machine's system call numbers are known."""
    return os.uname().machine in ARCHITECTURES


def deny_sockets() -> None:
    """Refuse every new socket, for this process and all that come after it."""
    architecture, calls = ARCHITECTURES[os.uname().machine]
    program = [(LOAD, 0, 0, 4), (JUMP_EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    program += [(JUMP_GREATER_EQUAL, 0, 1, X32), (RETURN, 0, 0, DENIED)]
    for number in calls:
        program += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, DENIED)]
    program.append((RETURN, 0, 0, ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(text)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    zero = ctypes.c_ulong(0)
    check(LIBC.prctl(ctypes.c_int(PR_SET_SECCOMP), ctypes.c_ulong(2), head, zero, zero), "seccomp")
