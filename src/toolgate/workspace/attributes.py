"""What a file has besides its content: owner, mode and extended attributes."""

import os
import stat
from contextlib import suppress

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote


def take_over(fd: int, source: int, old: os.stat_result, path: str) -> None:
    """Give the new file the owner, mode and attributes of the old one."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except PermissionError:
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{quote(path)} belongs to another user or group, which writing it would change.",
                "Ask the user to change the file or its owner.",
            ) from None
    os.fchmod(fd, stat.S_IMODE(old.st_mode))
    _copy_attributes(fd, source)


def _copy_attributes(fd: int, source: int) -> None:
    """Copy what users set; `security.*` belongs to the content or to the system's own rules."""
    try:
        names = os.listxattr(source)
    except OSError:  # the file system does not support them
        return
    for name in names:
        if name.startswith(("user.", "system.posix_acl_access")):
            with suppress(OSError):  # the file system may refuse some, and the content matters more
                os.setxattr(fd, name, os.getxattr(source, name))
