"""The output files of a whole session: removed with it, or given to a session that was made from it."""

import os
from contextlib import suppress

from toolgate.workspace.output_directory import outputs_in
from toolgate.workspace.root import Workspace
from toolgate.workspace.session_view import SessionWorkspace
from toolgate.workspace.threads import Stop


def remove_outputs(stop: Stop, workspace: Workspace, directory: str, owner: str) -> None:
    """Remove the output files of a session, the links to them, and its directory."""
    own = SessionWorkspace(workspace, directory, owner).own_outputs
    stored = tuple(own.stored.split("/"))
    with suppress(FileNotFoundError), workspace.directory(stored) as folder:
        for name, _ in list(outputs_in(folder)):
            stop.check()
            _unlink_link(workspace, own.shown, name)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    with suppress(OSError), workspace.directory(stored[:-1]) as parent:  # a file that is not ours stays, and its folder
        os.rmdir(stored[-1], dir_fd=parent)


def copy_outputs(stop: Stop, workspace: Workspace, directory: str, owner: str, new_owner: str) -> None:
    """Give a session the output files of another one, as hard links: neither loses them when the other is removed."""
    stored = tuple(SessionWorkspace(workspace, directory, owner).own_outputs.stored.split("/"))
    new = tuple(SessionWorkspace(workspace, directory, new_owner).own_outputs.stored.split("/"))
    with suppress(FileNotFoundError), workspace.directory(stored) as folder:
        with workspace.directory(new[:-1]) as parent:
            os.mkdir(new[-1], 0o700, dir_fd=parent)
        with workspace.directory(new) as target:
            for name, _ in list(outputs_in(folder)):
                stop.check()
                with suppress(FileNotFoundError):
                    os.link(name, name, src_dir_fd=folder, dst_dir_fd=target, follow_symlinks=False)


def _unlink_link(workspace: Workspace, shown: str, name: str) -> None:
    """Remove the link to an output file from the directory that people see."""
    with suppress(OSError), workspace.directory(tuple(shown.split("/"))) as links:  # not a link: it is not ours
        os.readlink(name, dir_fd=links)
        os.unlink(name, dir_fd=links)
