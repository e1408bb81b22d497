"""One user's view of a shared root: the directory for outputs is that user's own.

Outputs of users with names lie in the runtime's own directory, which sandboxes hide and file tools do not write. A user
sees their own outputs, and nobody else's, under the name of the directory for outputs.
"""

import hashlib
import os
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote
from toolgate.workspace.protect import RUNTIME
from toolgate.workspace.root import Workspace

if TYPE_CHECKING:
    from toolgate.workspace.journal import Journal

OUTPUTS = "outputs"
"""In the runtime's own directory: one directory for the outputs of each user."""


class OwnedWorkspace(Workspace):
    """The same root, with `directory` leading to the outputs of `user`."""

    def __init__(self, origin: Workspace, directory: str, user: str) -> None:
        self.__dict__.update(origin.__dict__)
        self._origin = origin
        self._outputs = origin.relative(directory)
        self._own = f"{RUNTIME}/{OUTPUTS}/{hashlib.sha256(user.encode()).hexdigest()[:32]}"
        self._open_any = origin._open  # noqa: SLF001 - the same class
        self._open = self._open_allowed

    @property
    def fd(self) -> int:
        """The descriptor of the shared root."""
        return self._origin.fd

    @property
    def journal(self) -> "Journal":
        """The journal of the shared root."""
        return self._origin.journal

    def physical(self, relative: str) -> str:
        """Where a path really is beneath the root."""
        if relative == self._outputs or relative.startswith(f"{self._outputs}/"):
            return self._own + relative[len(self._outputs) :]
        return relative

    def _open_allowed(self, root_fd: int, path: str, flags: int, *, links: bool = True, wait: bool = True) -> int:
        """Open what this user may see; decided by where the descriptor leads, whatever links led there."""
        relative, physical = path, self.physical(path)
        fd = self._open_any(root_fd, physical, flags, links=links, wait=wait)
        place = os.readlink(f"/proc/self/fd/{fd}")
        private = f"{os.readlink(f'/proc/self/fd/{root_fd}')}/{RUNTIME}/{OUTPUTS}"
        own = f"{private}/{self._own.rpartition('/')[2]}"
        if f"{place}/".startswith(f"{private}/") and not (physical != relative and f"{place}/".startswith(f"{own}/")):
            os.close(fd)
            raise ToolError(
                ErrorCode.ACCESS_DENIED,
                f"{quote(relative)} holds outputs of sessions.",
                f"Your own are in {quote(self._outputs)}.",
            )
        return fd
