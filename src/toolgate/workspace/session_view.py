"""A session's view of a project root: its output directory shows only the session's own output files.

Each session's output files are in a directory inside the runtime's directory, which sandboxes hide and file tools do
not write. The output directory has a link to each file, so that the paths in answers work for users and for commands.
"""

import errno
import hashlib
import os
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote
from toolgate.workspace.outputs import OUTPUTS, OwnOutputs, is_output_name
from toolgate.workspace.root import Workspace

if TYPE_CHECKING:
    from toolgate.workspace.journal import Journal


class SessionWorkspace(Workspace):
    """The same root as `origin`, as the session `owner` and its sub-agents see it."""

    own_outputs: OwnOutputs

    def __init__(self, origin: Workspace, directory: str, owner: str) -> None:
        self._origin = origin
        shown = origin.relative(directory)
        key = hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.own_outputs = OwnOutputs(shown=shown, stored=f"{OUTPUTS}/{key}")
        self._plain = tuple(name.split("/", 1)[0].casefold() for name in (shown, OUTPUTS))
        self._open = self._open_allowed

    def __getattr__(self, name: str) -> Any:
        """Everything else is the origin's, because the root may be deleted and opened again."""
        if name == "_origin":  # a copy that was not initialised
            raise AttributeError(name)
        return getattr(self._origin, name)

    @property
    def journal(self) -> "Journal":
        """The journal of the shared root."""
        return self._origin.journal

    def require_present(self) -> None:
        """Raise `ToolError` if the root is gone."""
        self._origin.require_present()

    def close(self) -> None:
        """Close the root."""
        self._origin.close()

    def for_session(self, directory: str, owner: str) -> Workspace:
        """Return this view: sub-agents share the output files of the session that started them."""
        return self

    def physical(self, relative: str) -> str:
        """Return the real location of a path beneath the root."""
        shown, stored = self.own_outputs.shown, self.own_outputs.stored
        if relative == shown:
            return stored
        if relative.startswith(f"{shown}/") and is_output_name(relative[len(shown) + 1 :]):
            return stored + relative[len(shown) :]
        return relative

    def _open_allowed(self, root_fd: int, path: str, flags: int, *, links: bool = True, wait: bool = True) -> int:
        """Open what this session may see. The descriptor's real location decides, whatever links led there."""
        opener = self._origin._open  # noqa: SLF001 - the same class
        if not path.casefold().startswith(self._plain):
            try:  # without a link, the text says where a path leads
                return opener(root_fd, path, flags, links=False, wait=wait)
            except OSError as error:
                if not links or error.errno != errno.ELOOP:
                    raise
        fd = opener(root_fd, self.physical(path), flags, links=links, wait=wait)
        try:
            self._check(root_fd, fd, path)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _check(self, root_fd: int, fd: int, path: str) -> None:
        root = os.readlink(f"/proc/self/fd/{root_fd}")
        place = os.readlink(f"/proc/self/fd/{fd}") + "/"
        if place.startswith(f"{root}/{OUTPUTS}/") and not place.startswith(f"{root}/{self.own_outputs.stored}/"):
            raise ToolError(
                ErrorCode.ACCESS_DENIED,
                f"{quote(path)} holds outputs of other sessions.",
                f"This session's own are in {quote(self.own_outputs.shown)}.",
            )
