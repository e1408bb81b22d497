"""Watches what commands do to repositories. Planted files are set aside before the answer is given."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING

from toolgate.log import logger
from toolgate.process.start import run_briefly
from toolgate.sandbox.git.index import UnreadableIndexError
from toolgate.sandbox.git.planted_files import PlantedFiles
from toolgate.sandbox.git.repository import GIT
from toolgate.sandbox.git.unexpected_files import UnexpectedFiles
from toolgate.sandbox.git.write_intervals import WriteIntervals
from toolgate.system import fcntl
from toolgate.workspace.oserrors import is_shortage
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.sandbox.git.git_list import GitList
    from toolgate.sandbox.git.repository import Repository
    from toolgate.sandbox.root_directory import RootDirectory

_GIT_PROGRAM = "/usr/bin/git"
_TIMEOUT = 30.0


class RepositoryWatch:
    """One per session. It tracks commands with `write` access; commands with `full` access were approved."""

    def __init__(self, root: RootDirectory, repository: Repository) -> None:
        self._root = root
        self._repository = repository
        self._intervals = WriteIntervals()
        self._planted = PlantedFiles(root, self._intervals)
        self._written: dict[Hashable, tuple[UnexpectedFiles, frozenset[str]]] = {}
        self._shared: dict[Hashable, int] = {}
        """Locks that tell other sessions on the same root that a command can write here."""
        self._later: list[str] = []
        """Notes about commands whose end nobody was waiting for."""

    def began(self, key: Hashable, git: GitList | None, *, reads: bool = False) -> None:
        """Record that a command with `write` access starts. `reads`: it certainly changes nothing."""
        if reads:
            return
        if git is not None:
            self._written[key] = UnexpectedFiles(self._root, git.parts), self._gitlinks()
        elif (fd := self._lock(fcntl.LOCK_SH)) is not None:
            self._shared[key] = fd
        self._intervals.begin(key)

    async def ended(self, key: Hashable, git: GitList | None, *, heard: bool = True) -> list[str]:
        """Return notes about a command that ended. If nobody `heard` it, they are kept for the next answer."""
        if not self._intervals.runs(key) and not self._intervals.is_open:
            notes = []
        else:
            notes = await in_thread(self._settle, key, git)
        if not heard:
            self._later += notes
            return notes
        notes, self._later = [*self._later, *notes], []
        return notes

    def close(self) -> None:
        """Release every lock."""
        for fd in self._shared.values():
            os.close(fd)
        self._shared.clear()

    def _settle(self, _: Stop, key: Hashable, git: GitList | None) -> list[str]:
        self._intervals.end(key)
        fd = self._shared.pop(key, None)
        if fd is not None:
            os.close(fd)
        notes: list[str] = []
        try:
            moved = self._after_git(key, git, notes)
            found, complete = self._planted.set_aside()
        except OSError as error:
            logger("shell").error("nothing_set_aside", error=str(error))
            return [*notes, f"toolgate: a repository below the root could not be checked: {error.strerror or error}\n"]
        moved += found
        if moved:
            notes.append(f"toolgate: {', '.join(moved)} would make git run something and was set aside\n")
        if not complete:
            notes.append("toolgate: the project has too many directories to check all of them for new repositories\n")
        return notes

    def _after_git(self, key: Hashable, git: GitList | None, notes: list[str]) -> list[str]:
        if git is None or key not in self._written:
            return []
        written, before = self._written.pop(key)
        moved = written.set_aside()
        hooks = self._repository.hooks(git.verbs)
        if hooks:
            notes.append(
                f"toolgate: the hooks {', '.join(hooks)} were not run: no hook runs while git may write .git\n"
            )
        links = sorted(self._gitlinks() - before)
        if links and not self._is_alone():
            self._forget(links)
            notes.append(
                f"toolgate: {', '.join(links)} is a repository of its own and was taken out of the index, because "
                "another command that can change it is still running\n"
            )
        return moved

    def _gitlinks(self) -> frozenset[str]:
        try:
            return self._repository.gitlinks()
        except UnreadableIndexError:  # then people are asked about every further command
            return frozenset()

    def _is_alone(self) -> bool:
        """Whether no other command with `write` access runs on this root, in any process."""
        fd = self._lock(fcntl.LOCK_EX)
        if fd is None:
            return False
        os.close(fd)
        return True

    def _lock(self, kind: int) -> int | None:
        try:
            fd = self._root.open(GIT, os.O_RDONLY)
        except OSError as error:
            if is_shortage(error):
                raise
            return None
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        return fd

    def _forget(self, links: list[str]) -> None:
        """Remove gitlinks from the index. For that, git reads neither the work tree nor anything below them."""
        off = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        done = run_briefly(
            [_GIT_PROGRAM, *off, "update-index", "-z", "--force-remove", "--stdin"],
            stdin=b"".join(os.fsencode(link) + b"\0" for link in links),
            directory=self._root.path,
            environment={
                "PATH": "/usr/bin:/bin",
                "HOME": "/",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_DIR": f"{self._root.path}/{GIT}",
            },
            timeout=_TIMEOUT,
        )
        if done.exit_code:
            raise OSError(f"git update-index failed: {done.stderr[:200].decode(errors='replace')}")
