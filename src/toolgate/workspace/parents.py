"""The directories that a new file needs: made beneath their parents, and removed again if they were made in vain."""

import os
from collections.abc import Sequence
from contextlib import suppress

from toolgate.workspace import protect
from toolgate.workspace.root import Workspace
from toolgate.workspace.target import Target
from toolgate.workspace.temporary import sweep


def make_parents(workspace: Workspace, target: Target) -> tuple[str, ...]:
    """Create the missing directories, each beneath the descriptor of its parent."""
    if target.missing < 2:
        return ()
    depth = len(target.parts) - target.missing
    made: list[str] = []
    try:
        for length in range(depth, len(target.parts) - 1):
            if workspace.is_protected("/".join(target.parts[: length + 1])):
                raise protect.refuse_protected(target.typed)
            with workspace.directory(target.parts[:length]) as directory:
                try:
                    os.mkdir(target.parts[length], 0o777, dir_fd=directory)
                    made.append("/".join(target.parts[: length + 1]))
                    os.fsync(directory)
                except FileExistsError:
                    continue
    except BaseException:
        remove_empty(workspace, made)
        raise
    return tuple(made)


def remove_empty(workspace: Workspace, made: Sequence[str]) -> None:
    """Remove directories that were created in vain. One that is in use stays."""
    for path in reversed(made):
        parts = tuple(path.split("/"))
        with suppress(OSError), workspace.directory(parts[:-1]) as directory:
            os.rmdir(parts[-1], dir_fd=directory)


def sweep_once(workspace: Workspace, directory: int) -> None:
    """Remove what killed writers left in a directory, the first time that something is written there."""
    info = os.fstat(directory)
    key = (info.st_dev, info.st_ino)
    if key not in workspace.swept:
        workspace.swept.add(key)
        sweep(directory)
