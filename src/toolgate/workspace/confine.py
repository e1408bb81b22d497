"""Opening beneath a directory, decided by the kernel on descriptors and never on strings.

Two implementations give the same answers: `openat2(RESOLVE_BENEATH)` where the kernel has it, and a walk by `dir_fd`
with `O_NOFOLLOW`, one component at a time. Relative links that stay beneath the root are followed; absolute links,
links that climb out and magic links are `EXDEV` or `ELOOP`, whether or not their target exists.
"""

import errno
import os
import stat
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, NamedTuple, Protocol

from toolgate.system import O_CLOEXEC, O_NOFOLLOW, O_PATH

Confinement = Literal["auto", "openat2", "walk"]
"""Which implementation opens paths; `auto` takes `openat2` where it works."""

Identity = tuple[int, int]
"""Device and inode."""

_SYS_OPENAT2 = 437  # the same on every Linux architecture that has a unified table
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE_CACHED = 0x20
_MOST_LINKS = 40
_MOST_RETRIES = 256
_LOOK = O_PATH | O_NOFOLLOW | O_CLOEXEC


class Opener(Protocol):
    """Opens a path beneath a directory.

    MUST NOT leave the directory, whatever is renamed meanwhile. MUST raise `OSError`, which is `EXDEV` or `ELOOP` for a
    path that leads out. With `links=False` every link is `ELOOP`. With `wait=False` it MUST NOT wait for a disk:
    `BlockingIOError` where it would have to.
    """

    def __call__(self, root_fd: int, path: str, flags: int, *, links: bool = True, wait: bool = True) -> int:
        """Open `path` (normal, relative, without `..`) and return the descriptor."""
        ...


@cache
def _syscall() -> Callable[[int, bytes, bytes], int]:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    number, size = ctypes.c_long(_SYS_OPENAT2), ctypes.c_size_t(24)

    def openat2(fd: int, path: bytes, how: bytes) -> int:
        result: int = libc.syscall(number, ctypes.c_int(fd), path, how, size)
        return result if result >= 0 else -ctypes.get_errno()

    return openat2


def open_by_openat2(root_fd: int, path: str, flags: int, *, links: bool = True, wait: bool = True) -> int:
    """Open beneath `root_fd` with `openat2`; `wait=False` is `BlockingIOError` where that would need the disk."""
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | (0 if links else _RESOLVE_NO_SYMLINKS)
    if not wait:
        resolve |= _RESOLVE_CACHED
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, resolve)
    name = os.fsencode(path)
    for _ in range(_MOST_RETRIES):
        result = _syscall()(root_fd, name, how)
        if result >= 0:
            return result
        # EAGAIN: something was renamed while the kernel resolved a `..` of a link, so it could not be sure
        if not wait or result not in (-errno.EAGAIN, -errno.EINTR):
            break
    raise OSError(-result, os.strerror(-result))


def open_by_walk(root_fd: int, path: str, flags: int, *, links: bool = True, wait: bool = True) -> int:
    """Open beneath `root_fd` one component at a time; `wait=False` is always `BlockingIOError`."""
    if not wait:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    with Walk(root_fd, links=links) as walk:
        place = walk.to(path.split("/"))
        if place.missing:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if flags & os.O_PATH:
            return os.dup(walk.fd)
        if walk.is_directory:
            return os.open(".", flags | os.O_CLOEXEC, dir_fd=walk.fd)
        if flags & os.O_DIRECTORY:
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return os.open(place.parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=walk.parent_fd)


def choose_opener(kind: Confinement, root_fd: int) -> tuple[str, Opener]:
    """The implementation to use and its name; asking for `openat2` where it does not work raises `OSError`."""
    if kind == "walk":
        return "walk", open_by_walk
    try:
        os.close(open_by_openat2(root_fd, ".", os.O_PATH))
    except OSError:  # ENOSYS on an old kernel, EPERM under a seccomp filter that does not know the call
        if kind == "openat2":
            raise
        return "walk", open_by_walk
    return "openat2", open_by_openat2


class Place(NamedTuple):
    """Where a path really is, with every link resolved."""

    parts: tuple[str, ...]
    """Components from the root. None of them was a link when it was checked."""
    identities: tuple[Identity, ...]
    """Of each component that exists."""
    missing: int
    """How many components at the end do not exist yet."""


class Walk:
    """A walk from the root by descriptors. Holds two of them at the most; a context manager."""

    def __init__(self, root_fd: int, *, links: bool = True) -> None:
        self._root = root_fd
        self._links = links
        self.fd = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root_fd)
        """The last component that exists (`O_PATH`)."""
        try:
            self.parent_fd = os.dup(self.fd)
            """Its directory."""
        except OSError:
            os.close(self.fd)
            raise
        self.is_directory = True

    def __enter__(self) -> "Walk":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
        os.close(self.parent_fd)

    def to(self, parts: Sequence[str]) -> Place:
        """Walk along `parts`, following relative links, and say where that is."""
        pending = list(reversed(parts))
        done: list[str] = []
        identities: list[Identity] = []
        followed = 0
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            if not self.is_directory:
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if name == "..":
                # `..` is never handed to the kernel: start again from the root, one component shorter
                if not done:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
                pending.extend(reversed(done[:-1]))
                done, identities = [], []
                self._move(os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._root))
                continue
            try:
                child = os.open(name, _LOOK, dir_fd=self.fd)
            except FileNotFoundError:
                return self._missing(done, identities, [name, *reversed(pending)])
            info = os.fstat(child)
            if stat.S_ISLNK(info.st_mode):
                followed += 1
                pending.extend(reversed(self._target(child, followed)))
                continue
            self._move(child)
            self.is_directory = stat.S_ISDIR(info.st_mode)
            done.append(name)
            identities.append((info.st_dev, info.st_ino))
        return Place(parts=tuple(done), identities=tuple(identities), missing=0)

    def _move(self, fd: int) -> None:
        os.close(self.parent_fd)
        self.parent_fd, self.fd = self.fd, fd
        self.is_directory = True

    def _target(self, link: int, followed: int) -> list[str]:
        try:
            if not self._links or followed > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return target.split("/")

    def _missing(self, done: list[str], identities: list[Identity], rest: list[str]) -> Place:
        names = [name for name in rest if name not in ("", ".")]
        if ".." in names:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return Place(parts=(*done, *names), identities=tuple(identities), missing=len(names))
