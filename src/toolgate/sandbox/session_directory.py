"""A session's private directories outside the sandbox: homes, temporary files, pipes, output files."""

from __future__ import annotations

import os
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.sandbox import leftovers
from toolgate.sandbox.view import is_below
from toolgate.system import O_CLOEXEC, O_NOFOLLOW

_ON_DISK = ("", "/tmp", "/var/tmp", "/dev/shm")
"""Candidates for the session's directory. The empty one stands for the user's own choice (`TMPDIR`)."""
_IN_MEMORY = ("/dev/shm",)
"""Where creating pipes is fastest."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC


class SessionDirectory:
    """The directories and files of one session. They are removed with it, also when the interpreter exits."""

    def __init__(self, root: str) -> None:
        parents = _outside(root, *_ON_DISK), _outside(root, *_IN_MEMORY, *_ON_DISK)
        made: list[tuple[str, int]] = []
        self.remove: Callable[[], object] = weakref.finalize(self, _remove, made)
        try:
            for parent in parents:
                made.append(leftovers.make_directory(parent))
        except OSError:
            self.remove()
            raise
        for parent in parents:
            leftovers.sweep_once(parent)
        self.base, self._exchange = (path for path, _ in made)
        self._temporary = self._directory("tmp")
        self._home = self._directory("home")
        self._full_temporary = self._directory("full-tmp")
        self._full_home = self._directory("full-home")
        self.output = self._directory("output")
        self.nothing = self._directory("nothing")
        self.view = self._directory("view")
        self.empty = os.path.join(self.base, "empty")
        os.close(os.open(self.empty, _NEW, 0o400))
        self.unreadable = os.path.join(self.base, "unreadable")
        os.close(os.open(self.unreadable, _NEW, 0))
        os.chmod(self.nothing, 0o555)
        self._number = 0

    def _directory(self, name: str) -> str:
        path = os.path.join(self.base, name)
        os.mkdir(path, 0o700)
        return path

    def directory_with(self, name: str, below: str) -> str:
        """Return a private directory that is empty except for a mount point."""
        path = os.path.join(self.base, name)
        os.makedirs(os.path.join(path, below), mode=0o700, exist_ok=True)
        return path

    def home(self, access: Access) -> str:
        """Return the private home of commands with this access.

        `full` has its own: programs read their configuration from it, and commands that nobody approved must not write
        it.
        """
        return self._full_home if access == "full" else self._home

    def temporary(self, access: Access) -> str:
        """Return the private directory for temporary files. `full` has its own."""
        return self._full_temporary if access == "full" else self._temporary

    def open_private(self) -> None:
        """Let commands use their own homes and temporary directories again: the last one may have closed them."""
        for path in (self._home, self._temporary, self._full_home, self._full_temporary):
            with suppress(FileNotFoundError):  # without a sandbox, a command may have removed it
                mode = stat.S_IMODE(os.stat(path).st_mode)
                if mode & stat.S_IRWXU != stat.S_IRWXU:
                    os.chmod(path, mode | stat.S_IRWXU)

    def new_path(self, kind: str) -> str:
        """Return an unused path in a private directory."""
        self._number += 1
        return os.path.join(self.output if kind == "output" else self._exchange, f"{kind}-{self._number}")

    def new_file(self, kind: str) -> tuple[str, int]:
        """Create a private file; return its path and descriptor."""
        path = self.new_path(kind)
        return path, os.open(path, _NEW, 0o600)

    def sealed_copy(self, content: bytes, mode: int) -> str | None:
        """Make a private, executable copy of a script; None if no private directory allows running programs."""
        folder = next((one for one in (self.base, self._exchange) if not os.statvfs(one).f_flag & os.ST_NOEXEC), None)
        if folder is None:
            return None
        self._number += 1
        path = os.path.join(folder, f"sealed-{self._number}")
        with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode & 0o555)
        return path

    def remove_copies(self, paths: Iterable[str]) -> None:
        """Remove private copies that are no longer needed."""
        for path in paths:
            os.unlink(path)

    def anchor(self, directory: str, name: str, *, file: bool = False) -> None:
        """Check or create a mount point directly inside a directory that commands write.

        It is a mount point in every sandbox of the session, so no command can have replaced it. If it is a link,
        something outside did, and nothing is mounted through it.
        """
        path = os.path.join(directory, name)
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            if file:
                os.close(os.open(path, _NEW, 0o600))
            else:
                os.mkdir(path, 0o700)
            return
        if not (stat.S_ISREG(mode) if file else stat.S_ISDIR(mode)):
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"'{name}' in the session's private directory was replaced, so no sandbox can be built on it.",
                "Start over with restart=true.",
            )


def _remove(made: list[tuple[str, int]]) -> None:
    for directory, lock in made:
        leftovers.remove(directory)
        os.close(lock)


def _outside(root: str, *candidates: str) -> str:
    for candidate in (candidate or tempfile.gettempdir() for candidate in candidates):
        real = os.path.realpath(candidate)
        if real != root and not is_below(real, root) and os.access(real, os.W_OK | os.X_OK):
            return real
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        "Every directory for temporary files is inside the project root, so commands cannot be kept apart from it.",
        "Choose a narrower project root, or set TMPDIR to a directory outside it.",
    )
