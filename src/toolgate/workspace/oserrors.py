"""Maps operating-system errors to error codes. This is the only such table."""

import errno
import os

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode

_NOT_FOUND = "Check the path, or list the directory with 'ls' to see what is there."
_OUTSIDE = "Use a path inside the project root; links that lead out of it are not followed."
_INVALID = "Use a shorter, plain path relative to the project root."

_TABLE: dict[int, tuple[ErrorCode, str, str]] = {
    errno.EBADF: (
        ErrorCode.EXECUTION_ERROR,
        "{path} could not be used: the workspace is closed.",
        "The application has to open it again.",
    ),
    errno.ENOENT: (ErrorCode.NOT_FOUND, "{path} does not exist.", _NOT_FOUND),
    errno.ENOTDIR: (ErrorCode.NOT_FOUND, "{path} does not exist: a part of it is not a directory.", _NOT_FOUND),
    errno.EACCES: (
        ErrorCode.PERMISSION_DENIED,
        "The operating system does not permit access to {path}.",
        "Work on another path, or ask the user to change the permissions.",
    ),
    errno.EISDIR: (
        ErrorCode.IS_DIRECTORY,
        "{path} is a directory, not a file.",
        "List it with 'ls', or name a file in it.",
    ),
    errno.ELOOP: (ErrorCode.ACCESS_DENIED, "{path} leads through a link that is not allowed.", _OUTSIDE),
    errno.EXDEV: (ErrorCode.ACCESS_DENIED, "{path} is outside the project root.", _OUTSIDE),
    errno.ENAMETOOLONG: (ErrorCode.INVALID_PARAM, "{path} is too long for a path.", _INVALID),
    errno.EINVAL: (ErrorCode.INVALID_PARAM, "{path} is not a usable path.", _INVALID),
    errno.ENOSPC: (
        ErrorCode.EXECUTION_ERROR,
        "There is no space left on the device for {path}; nothing was changed.",
        "Free some space, or write less.",
    ),
    errno.EDQUOT: (
        ErrorCode.EXECUTION_ERROR,
        "The disk quota does not allow to write {path}; nothing was changed.",
        "Free some space, or write less.",
    ),
    errno.EFBIG: (
        ErrorCode.EXECUTION_ERROR,
        "{path} would become larger than the system allows; nothing was changed.",
        "Write less.",
    ),
    errno.EMFILE: (
        ErrorCode.EXECUTION_ERROR,
        "{path} could not be used: this process has too many open files.",
        "Make the call again when others have ended. If this repeats, ask the user to raise the limit on open files.",
    ),
    errno.ENFILE: (
        ErrorCode.EXECUTION_ERROR,
        "{path} could not be used: the machine has too many open files.",
        "Make the call again later. If this repeats, ask the user to close other programs.",
    ),
    errno.ENOMEM: (
        ErrorCode.EXECUTION_ERROR,
        "{path} could not be used: there is not enough memory.",
        "Ask for less: a part of a file, fewer results or a narrower path.",
    ),
    errno.EAGAIN: (
        ErrorCode.EXECUTION_ERROR,
        "{path} could not be used: the system has no room for another thread or process.",
        "Make the call again when other calls have ended. If this repeats, tell the user.",
    ),
    errno.EROFS: (
        ErrorCode.PERMISSION_DENIED,
        "{path} is on a read-only file system.",
        "Work on another path, or ask the user.",
    ),
}
_TABLE[errno.EPERM] = _TABLE[errno.EACCES]

_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
_MAX_CHARACTERS = 200


def quote(path: str) -> str:
    """Return the path as it was typed, in quotes, printable and short."""
    shown = path if len(path) <= _MAX_CHARACTERS else f"{path[:_MAX_CHARACTERS]}… ({len(path)} characters)"
    plain = shown.encode("utf-8", "backslashreplace").decode("utf-8")
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in plain) + "'"


def is_shortage(error: BaseException) -> bool:
    """Whether the system was only out of a resource. The same request may work later."""
    return isinstance(error, OSError) and error.errno in _SHORTAGES


def from_os_error(error: OSError, path_as_typed: str) -> ToolError:
    """Convert an `OSError` for the caller. The message quotes only the path as it was typed."""
    shown = quote(path_as_typed)
    known = _TABLE.get(error.errno or 0)
    if known is not None:
        code, message, next_step = known
        return ToolError(code, message.format(path=shown), next_step)
    reason = os.strerror(error.errno) if error.errno else "input/output error"
    name = errno.errorcode.get(error.errno or 0, "")
    described = f"{reason} ({name})" if name else reason
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{shown} could not be used: {described}.",
        "Try again, or ask the user to look at it.",
    )
