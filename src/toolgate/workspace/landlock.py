"""Landlock: what the kernel lets the calling thread, and every process that it starts from then on, do with files.

A restriction cannot be lifted, so the caller gives it a thread of its own.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from functools import cache

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
READ = READ_FILE | READ_DIR

_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_CREATE_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_FILE_ACCESS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many access rights each version of the interface knows; newer ones 16."""
_PT_INTERP = 3
_NOT_FOR_FILES = ~(EXECUTE | WRITE_FILE | READ_FILE)


@cache
def version() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    known: int = _libc().syscall(_SYS_CREATE_RULESET, None, 0, _CREATE_VERSION)
    return max(0, known)


def restrict_thread(rules: Iterable[tuple[int | str, int]]) -> None:
    """Forbid this thread every file access and TCP, except the given rights beneath the given directories or files.

    A rule for a path that does not exist is left out. Raises `OSError` if the kernel refuses.
    """
    known = (1 << _FILE_ACCESS.get(version(), 16)) - 1
    attributes = struct.pack("=QQ", known, 3) if version() >= 4 else struct.pack("=Q", known)
    ruleset = _call(_SYS_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for where, rights in rules:
            _allow(ruleset, where, rights & known)
        _check(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _call(_SYS_RESTRICT_SELF, ruleset, 0, 0)
    finally:
        os.close(ruleset)


@cache
def is_static(program: str) -> bool:
    """Whether a 64-bit ELF program needs no loader and no libraries; False for everything else."""
    try:
        fd = os.open(program, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        head = os.read(fd, 4096)
    finally:
        os.close(fd)
    if head[:5] != b"\x7fELF\x02" or len(head) < 64:
        return False
    start, size, count = struct.unpack_from("=Q", head, 32)[0], *struct.unpack_from("=HH", head, 54)
    kinds = [struct.unpack_from("=I", head, start + size * index)[0] for index in range(count)]
    return _PT_INTERP not in kinds


def _allow(ruleset: int, where: int | str, rights: int) -> None:
    if isinstance(where, int):
        _call(_SYS_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, where), 0)
        return
    try:
        fd = os.open(where, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        is_dir = os.path.isdir(f"/proc/self/fd/{fd}")
        _allow(ruleset, fd, rights if is_dir else rights & ~_NOT_FOR_FILES)
    finally:
        os.close(fd)


def _call(number: int, *arguments: int | bytes | None) -> int:
    return _check(_libc().syscall(number, *arguments))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
