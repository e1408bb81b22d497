"""Refuses calls that cannot be run, before anything is started."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.shell.options import ShellOptions

if TYPE_CHECKING:
    from toolgate.workspace import Workspace


def check_command(command: str, limit: int) -> None:
    """Check that a command is text that a shell accepts."""
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise _invalid("command holds half of a character (a lone surrogate).") from None
    if "\0" in command:
        raise _invalid("command holds a NUL character, which no shell can take.")
    if size > limit:
        raise _invalid(f"command has {size:,} bytes; at most {limit:,} are taken.")


def check_access(access: str, roots: Sequence[str]) -> None:
    """Check that the access is one of the three, and that further roots come only with `full`."""
    if access not in get_args(Access):
        raise _invalid(f"access must be one of {', '.join(get_args(Access))}.")
    if roots and access != "full":
        raise _invalid('further roots need access="full".')
    if any(not root.startswith("/") for root in roots):
        raise _invalid("further roots must be absolute paths.")


def check_timeout(timeout: float | None, options: ShellOptions) -> float:
    """Return the timeout of a command in seconds."""
    seconds = options.timeout if timeout is None else timeout
    if not 0 < seconds <= options.most_timeout:
        raise _invalid(f"timeout must be more than 0 and at most {options.most_timeout:g} seconds.")
    return seconds


def check_root(workspace: Workspace, path: str) -> None:
    """Check that the path of the root still leads to the directory that was opened."""
    workspace.require_present()
    opened = workspace.stat(".")
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        there = None
    if opened is None or there is None or not os.path.samestat(opened, there):
        raise ToolError(
            ErrorCode.CONFLICT,
            "The project root was moved or replaced, so no command can be confined to it.",
            "Ask the user to put it back, or open the project again.",
        )


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_PARAM, message, "Change the call and try again.")
