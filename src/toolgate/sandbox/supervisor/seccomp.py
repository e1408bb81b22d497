"""The system call filter: forbids what namespaces, mounts and Landlock do not."""

import ctypes
import os
import struct

from toolgate.sandbox.supervisor.call_numbers import (
    ATTRIBUTES,
    MISSING,
    PRIVILEGED,
    QUEUES,
    SHARED,
    call_number,
)
from toolgate.sandbox.supervisor.kernel import LIBC, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, check, prctl

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, KILL, ERROR, NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
EPERM, EACCES, ENOSYS, EAFNOSUPPORT = 1, 13, 38, 97
X32 = 0x40000000
NEW_NAMESPACES = 0x7E020000
NEW_TIME_NAMESPACE = 0x80
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
CONNECTED_TYPES = (1, 5)
"""Stream and sequenced packets: unix sockets that can only send to where they are connected."""
NETLINK_PROTOCOLS = (0, 4)
"""Netlink families for addresses, routes and sockets of the command's own network."""
CHARACTER_DEVICE, BLOCK_DEVICE, KIND_OF_FILE = 0x2000, 0x6000, 0xF000
CHANGING_IOCTLS = (0x40086602, 0x401C5820, 0x40087602, 0x40806685, 0x800C6613)
"""Flags, project, version, verity and encryption of a file. Setting them needs no writable descriptor."""

Line = tuple[int, int, int, int]


def can_filter() -> bool:
    """Whether this machine's system call numbers are known."""
    return os.uname().machine in ARCHITECTURES


def fail(number: int) -> Line:
    """Make the call fail."""
    return (RETURN, 0, 0, ERROR | number)


def argument(position: int) -> Line:
    """Load the lower half of an argument."""
    return (LOAD, 0, 0, 16 + 8 * position)


def rule(machine: str, name: str, body: list[Line]) -> list[Line]:
    """Apply `body` to one call. If it does not decide, the next rules do."""
    number = call_number(name, machine)
    if number is None:
        return []
    return [(EQUAL, 0, len(body) + 1, number), *body, (LOAD, 0, 0, 0)]


def forbidden(machine: str, names: tuple[str, ...] | list[str], error: int) -> list[Line]:
    """Calls that always fail."""
    numbers = [number for name in names if (number := call_number(name, machine)) is not None]
    return [line for number in numbers for line in ((EQUAL, 0, 1, number), fail(error))]


def one_of(values: tuple[int, ...], error: int) -> list[Line]:
    """Fail unless the loaded value is one of these."""
    return [*((EQUAL, len(values) - position, 0, value) for position, value in enumerate(values)), fail(error)]


def none_of(values: tuple[int, ...], error: int) -> list[Line]:
    """Fail if the loaded value is one of these."""
    return [line for value in values for line in ((EQUAL, 0, 1, value), fail(error))]


def unix_types() -> list[Line]:
    """Fail for unix sockets that can send anywhere without being connected."""
    return [argument(1), (AND, 0, 0, 0xF), *one_of(CONNECTED_TYPES, EACCES)]


def socket_rules(machine: str, sockets: str) -> list[Line]:
    """Which sockets may be created: `none`, `own` (unix sockets only as pairs), `gated` (unix sockets too) or `all`."""
    if sockets == "all":
        return []
    pairs = [argument(0), *one_of((AF_UNIX,), EAFNOSUPPORT), *unix_types()]
    if sockets == "none":
        return [*forbidden(machine, ("socket",), EACCES), *rule(machine, "socketpair", pairs)]
    unix = unix_types() if sockets == "gated" else [fail(EACCES)]
    netlink = [argument(2), *one_of(NETLINK_PROTOCOLS, EAFNOSUPPORT)]
    body = [
        argument(0),
        *one_of((AF_UNIX, AF_INET, AF_INET6, AF_NETLINK), EAFNOSUPPORT),
        (EQUAL, 0, len(unix), AF_UNIX),
        *unix,
        argument(0),
        (EQUAL, 0, len(netlink), AF_NETLINK),
        *netlink,
    ]
    return [*rule(machine, "socket", body), *rule(machine, "socketpair", pairs)]


def alone_rules(machine: str, *, attributes: bool) -> list[Line]:
    """Further rules for Landlock alone: it does not cover attributes, and there is no IPC namespace."""
    lines = forbidden(machine, SHARED, EPERM)
    lines += rule(machine, "prlimit64", [argument(0), *one_of((0,), EPERM)])
    if not attributes:
        lines += forbidden(machine, ATTRIBUTES, EPERM)
        lines += rule(machine, "ioctl", [argument(1), *none_of(CHANGING_IOCTLS, EPERM)])
    return lines


def command_filter(machine: str, *, sockets: str, alone: bool = False, attributes: bool = True) -> bytes:
    """Return the filter for a command: calls that it may not make, under any user id."""
    devices = [(AND, 0, 0, KIND_OF_FILE), *none_of((CHARACTER_DEVICE, BLOCK_DEVICE), EPERM)]
    lines = [
        *forbidden(machine, MISSING, ENOSYS),
        *forbidden(machine, PRIVILEGED, EPERM),
        *rule(machine, "clone", [argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES), fail(EPERM)]),
        *rule(machine, "unshare", [argument(0), (ANY_BIT, 0, 1, NEW_NAMESPACES | NEW_TIME_NAMESPACE), fail(EPERM)]),
        *rule(machine, "mknod", [argument(1), *devices]),
        *rule(machine, "mknodat", [argument(2), *devices]),
        *socket_rules(machine, sockets),
        *(alone_rules(machine, attributes=attributes) if alone else ()),
        *(() if sockets == "all" else forbidden(machine, QUEUES, EACCES)),
    ]
    return assembled(machine, lines)


def gate_filter(machine: str) -> bytes:
    """Return the filter that asks the runtime about every connection."""
    return assembled(machine, rule(machine, "connect", [(RETURN, 0, 0, NOTIFY)]))


def assembled(machine: str, lines: list[Line]) -> bytes:
    """Prefix rules with a check of the system call table: 32-bit programs use other numbers."""
    head = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCHITECTURES[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    head += [(AT_LEAST, 0, 1, X32), fail(ENOSYS)]
    return b"".join(struct.pack("HBBI", *line) for line in (*head, *lines, (RETURN, 0, 0, ALLOW)))


def install_filter(program: bytes) -> None:
    """Filter the calls of this process and its future children."""
    text = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(text)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    zero = ctypes.c_ulong(0)
    check(LIBC.prctl(ctypes.c_int(PR_SET_SECCOMP), ctypes.c_ulong(2), head, zero, zero), "seccomp")
