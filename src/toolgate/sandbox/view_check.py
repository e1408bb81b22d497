"""Checks a finished view from outside, before a command runs in it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from toolgate.sandbox.view import RedirectableMount
from toolgate.workspace.confine import choose_opener


def view_difference(shell: int, checks: Iterable[RedirectableMount]) -> str:
    """Return how the view of this process differs from the plan; empty if it does not."""
    try:
        root = os.open(f"/proc/{shell}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        return f"the sandbox cannot be checked: {error.strerror}"
    try:
        wrong = (check.target for check in checks if not _holds(root, check))
        target = next(wrong, None)
    finally:
        os.close(root)
    return "" if target is None else f"'{target}' was replaced while the sandbox was being set up"


def _holds(root: int, check: RedirectableMount) -> bool:
    try:
        fd = choose_opener("auto", root)[1](root, check.target.lstrip("/"), os.O_PATH | os.O_NOFOLLOW, links=False)
    except OSError:
        return False
    try:
        info = os.fstat(fd)
        read_only = bool(os.fstatvfs(fd).f_flag & os.ST_RDONLY)
        return (info.st_dev, info.st_ino) == (check.device, check.inode) and (read_only or not check.read_only)
    finally:
        os.close(fd)
