"""A file's new content as pieces: new bytes, and spans of the existing file that the kernel copies."""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

from toolgate.workspace.threads import Stop

_STEP = 64 << 20
_UNSUPPORTED = (errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM)


@dataclass(frozen=True, slots=True)
class FileSpan:
    """A span of the existing file."""

    offset: int
    length: int


Piece = bytes | FileSpan


def write_pieces(fd: int, source: int | None, pieces: Iterable[Piece], stop: Stop) -> None:
    """Write all pieces in order."""
    for piece in pieces:
        stop.check()
        if isinstance(piece, FileSpan):
            if source is None:
                raise ValueError("a span needs a file to copy from")
            _copy(source, fd, piece, stop)
        else:
            write_all(fd, piece)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _copy(source: int, fd: int, span: FileSpan, stop: Stop) -> None:
    offset, end = span.offset, span.offset + span.length
    copy = _by_kernel
    while offset < end:
        stop.check()
        copied = copy(source, fd, end - offset, offset)
        if not copied and copy is _by_memory:
            raise OSError(errno.EIO, "the file became shorter while it was copied")
        if not copied:
            copy = _by_memory
        offset += copied


def _by_kernel(source: int, fd: int, length: int, offset: int) -> int:
    """Return the number of copied bytes; 0 if the file system does not support it."""
    try:
        return os.copy_file_range(source, fd, min(_STEP, length), offset)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return 0


def _by_memory(source: int, fd: int, length: int, offset: int) -> int:
    data = os.pread(source, min(1 << 20, length), offset)
    write_all(fd, data)
    return len(data)
