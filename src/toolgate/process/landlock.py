"""Landlock: restricts which files a thread, and every process that it starts afterwards, can read.

A restriction cannot be lifted, so the caller uses a thread of its own. Only the two read rights are handled. The kernel
checks every handled right up to the root at each open, and further rights made a search a tenth slower.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from functools import cache

from toolgate.system import is_linux
from toolgate.workspace.oserrors import is_shortage

_READ_FILE, _READ_DIR = 4, 8
_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_CREATE_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_PT_INTERP = 3


@cache
def version() -> int:
    """Return the version of the kernel's interface; 0 if there is none."""
    if not is_linux():
        return 0
    known: int = _libc().syscall(_SYS_CREATE_RULESET, None, 0, _CREATE_VERSION)
    return max(0, known)


def restrict_thread(readable: Iterable[int | str]) -> None:
    """Restrict this thread to reading these files and what is beneath these directories.

    Each is a descriptor or a path. Paths that do not exist are ignored. Raises `OSError` if the kernel refuses.
    """
    attributes = struct.pack("=Q", _READ_FILE | _READ_DIR)
    ruleset = _call(_SYS_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for where in readable:
            _allow(ruleset, where)
        _check(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _call(_SYS_RESTRICT_SELF, ruleset, 0, 0)
    finally:
        os.close(ruleset)


@cache
def is_static(program: str) -> bool:
    """Whether a file is a statically linked 64-bit ELF program, which needs no loader and no libraries."""
    try:
        fd = os.open(program, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if is_shortage(error):
            raise
        return False
    try:
        head = os.read(fd, 4096)
    finally:
        os.close(fd)
    if head[:5] != b"\x7fELF\x02" or len(head) < 64:
        return False
    (start,) = struct.unpack_from("=Q", head, 32)
    size, count = struct.unpack_from("=HH", head, 54)
    if start + size * count > len(head):
        return False
    return all(struct.unpack_from("=I", head, start + size * index)[0] != _PT_INTERP for index in range(count))


def _allow(ruleset: int, where: int | str) -> None:
    if isinstance(where, str):
        try:
            fd = os.open(where, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            _allow(ruleset, fd)
        finally:
            os.close(fd)
        return
    rights = _READ_FILE | _READ_DIR if stat.S_ISDIR(os.fstat(where).st_mode) else _READ_FILE
    _call(_SYS_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, where), 0)


def _call(number: int, *arguments: int | bytes) -> int:
    return _check(_libc().syscall(number, *arguments))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
