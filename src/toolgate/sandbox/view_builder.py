"""Builds the view of a command: the system, toolchains, a private home and temp, and the project root."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.sandbox.git.git_list import GitList
from toolgate.sandbox.git.repository import Repository, identity_in
from toolgate.sandbox.landlock_rules import Grant, cover, files_of, root_grants, system_grants
from toolgate.sandbox.mount_watch import MountWatch
from toolgate.sandbox.protected import RUNTIME, Protected
from toolgate.sandbox.root_directory import RootDirectory
from toolgate.sandbox.runtime_files import runtime_mounts
from toolgate.sandbox.session_directory import SessionDirectory
from toolgate.sandbox.system_paths import private_configuration, resolver_mounts, system_mounts
from toolgate.sandbox.toolchains import keys, toolchains
from toolgate.sandbox.view import Mount, RedirectableMount, View, check_of, is_below
from toolgate.workspace.outputs import OwnOutputs

TEMPORARY = "/tmp"
RUN = "/run/toolgate"
STATE = f"{RUN}/state"
_SECRETS = (
    ".ssh .gnupg .aws .azure .kube .docker .netrc .npmrc .pypirc .git-credentials .config/gcloud .config/gh"
    " .config/toolgate .local/share/keyrings .cargo/credentials .cargo/credentials.toml .password-store .mozilla"
).split()
"""Paths in a home directory that are hidden even if the home is the project root."""


class ViewBuilder:
    """Builds the views of one session."""

    def __init__(
        self,
        root: str,
        places: SessionDirectory,
        *,
        home: str,
        path: Sequence[str],
        readable: Iterable[str] = (),
        extra: Iterable[str] = (),
        roots: Iterable[str] = (),
        hidden: Iterable[str] = (),
        mounts: bool = True,
        processes: int = 1024,
        outputs: OwnOutputs | None = None,
        locked: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`locked` returns the paths, relative to the root or absolute, that no command may read without consent."""
        _require_narrow(root, home)
        self.root = root
        self._makes_mounts = mounts
        self._processes = processes
        self.places = places
        self.opened = RootDirectory(root)
        self.repository = Repository(self.opened, home)
        self.protected = Protected(self.opened, places, self.repository, outputs)
        self.home = f"{RUN}/home" if root == home or is_below(home, root) else home
        self._user_home = home
        self._secrets = [os.path.join(home, name) for name in _SECRETS] if self.home != home else []
        tools = toolchains(path, home)
        self._tools = [place for place in tools if place != root and not is_below(place, root)]
        self._keys = keys(self._tools, home)
        self._readable = [os.path.realpath(place) for place in readable]
        self._extra = [os.path.realpath(place) for place in extra]
        self._roots = tuple(roots)
        if not mounts:
            self._require_apart()
        self._hidden = list(dict.fromkeys(name for place in hidden for name in _names_of(place, root)))
        self._masked = self._paths_to_mask()
        self._locked = locked
        try:
            self._host_mounts = MountWatch("self") if mounts else None
            """Notices mounts on the host: a sandbox that was made before one of them shows what lies under it."""
        except OSError:
            self.opened.close()
            raise

    def _require_apart(self) -> None:
        """Without mounts, rights only add up: a directory cannot be writable with full access and read-only as well."""
        for root in map(os.path.realpath, self._roots):
            for place in self._extra:
                if root == place or is_below(root, place) or is_below(place, root):
                    raise ToolError(
                        ErrorCode.EXECUTION_ERROR,
                        f"'{place}' is to be read-only and writable at once, which this sandbox cannot keep apart.",
                        "Ask the operator to change TOOLGATE_WORKSPACE_EXTRA or TOOLGATE_SHELL_ROOTS.",
                    )

    def _paths_to_mask(self) -> list[str]:
        """Return the paths that are hidden as soon as they exist, where commands see the directories around them."""
        shown = [self.root, *self._extra, *map(os.path.realpath, self._roots)]
        paths = dict.fromkeys((*self._hidden, *self._secrets, *self._credentials()))
        return [path for path in paths if any(is_below(path, place) for place in shown)]

    def close(self) -> None:
        """Remove the mount points that were created, and close the root."""
        self.protected.close()
        self.opened.close()
        mounts, self._host_mounts = self._host_mounts, None
        if mounts is not None:
            mounts.close()

    def view(
        self,
        access: Access,
        state_pipe: str,
        roots: Iterable[str] = (),
        git: GitList | None = None,
        sealed: Mapping[str, str] = MappingProxyType({}),
        unlocked: Collection[str] = (),
    ) -> View:
        """Build the view of one command. `state_pipe` is the host path of the pipe; `git` may write the repository.

        `sealed` maps paths inside the root to the private copies that are mounted there. `unlocked` are the locked
        paths that this command may read.
        """
        locked = tuple(path for path in self._locked() if path not in unlocked)
        real = [_directory(place) for place in (*self._roots, *roots)] if access == "full" else []
        git_directory = f"{RUN}/{secrets.token_hex(16)}/.git" if git is not None else ""
        identity = self._identity(access, locked)
        mounts: list[Mount] = []
        try:
            if self._makes_mounts:
                mounts.extend(self._mounts(access, state_pipe, real, locked))
            if git is not None:
                for mount in self.protected.for_git(git_directory, git.parts):
                    mounts.insert(-2, mount)
            for relative, copy in sealed.items():
                if self.protected.is_covered(relative):
                    continue  # the command does not find it
                mounts.insert(-2, Mount("ro", os.path.join(self.root, relative), copy))
            checks = tuple(self._checks(mounts))
        except BaseException:
            for mount in mounts:
                if mount.source_fd >= 0:
                    os.close(mount.source_fd)
            raise
        return View(
            checks=checks,
            git=git,
            git_directory=git_directory,
            access=access,
            mounts=tuple(mounts),
            network=access == "full",
            directory=self.root,
            state_pipe=STATE if self._makes_mounts else state_pipe,
            base=self.places.view,
            grants=tuple(
                _grants(mounts) if self._makes_mounts else self._plain_grants(access, state_pipe, real, locked)
            ),
            processes=self._processes,
            identity=identity,
        )

    def repository_may_be_written(self) -> bool:
        """Whether git commands may write the root's repository: it exists and configures no program of its own."""
        return self.opened.kind(".git/HEAD") == "file" and not self.repository.runs_code()

    def identity_settings(self) -> dict[str, str]:
        """Return the committer's identity from the private home, where the repository does not set it."""
        own = {entry.key for entry in self.repository.entries()}
        return {key: value for key, value in identity_in(self.places.home("write")).items() if key not in own}

    def identity(self, access: Access) -> tuple[object, ...]:
        """Identify the root and its protected paths as they are now. A view with another identity does not hold."""
        return self._identity(access, tuple(self._locked()))

    def _identity(self, access: Access, locked: tuple[str, ...]) -> tuple[object, ...]:
        """Identify what a view depends on. Landlock rules hold for the files that existed, not for their names."""
        if self._host_mounts is not None:
            locked = tuple(os.path.join(self.root, path) for path in locked)
            paths = (*self._tools, *self._readable, *self._extra, *self._masked, *locked)
            files = files_of((path, "") for path in paths)
            return (private_configuration(), self._host_mounts.changes(), *self.protected.identity(), *files)
        files = files_of(self._root_grants(access, locked))
        return (private_configuration(), *self.protected.identity(), *files)

    def _root_grants(self, access: Access, locked: tuple[str, ...]) -> Iterator[Grant]:
        hidden = [os.path.join(self.root, RUNTIME), *self.protected.outputs_of_nobody(), *self._hidden, *self._secrets]
        return root_grants(self.root, access, [*hidden, *(os.path.join(self.root, path) for path in locked)])

    def _checks(self, mounts: list[Mount]) -> Iterator[RedirectableMount]:
        """Yield checks for mounts whose targets are where commands can write, unless a later mount covers them."""
        places = tuple(f"{place}/" for place in (self.root, TEMPORARY, self.home))
        for number, mount in enumerate(mounts):
            near = mount.kind in ("ro", "rw") and f"{mount.target}/".startswith(places)
            if near and not any(
                later.kind in ("ro", "rw", "tmpfs")
                and (later.target == mount.target or is_below(mount.target, later.target))
                for later in mounts[number + 1 :]
            ):
                yield check_of(mount)

    def _plain_grants(
        self, access: Access, state_pipe: str, roots: list[str], locked: tuple[str, ...]
    ) -> Iterator[Grant]:
        """Yield rules for a command that sees the host's own paths."""
        yield from system_grants([path for path, _ in private_configuration()])
        for place in self._tools:
            yield from cover(place, self._keys)
        for place in self._readable:
            yield place, "read"
        secret = [*self._credentials(), *self._hidden, *(path for path in locked if path.startswith("/"))]
        for place in self._extra:
            yield from cover(place, secret)
        own = (self.places.temporary(access), self.places.home(access))
        for place in (*own, state_pipe, *(roots if access == "full" else ())):
            yield place, "write"
        yield from self._root_grants(access, locked)
        if (outputs := self.protected.own_outputs()) is not None:
            yield outputs, "read"

    def _mounts(self, access: Access, state_pipe: str, roots: list[str], locked: tuple[str, ...]) -> Iterator[Mount]:
        yield from system_mounts()
        for path, is_directory in private_configuration():
            yield self._mask(path, is_directory)
        if access == "full":
            yield from resolver_mounts()
        yield Mount("proc", "/proc")
        yield Mount("dev", "/dev")
        yield Mount("shm", "/dev/shm")
        yield Mount("dir", "/var")
        yield Mount("symlink", "/var/tmp", "../tmp")
        yield Mount("rw", TEMPORARY, self.places.temporary(access))
        yield Mount("rw", self.home, self.places.home(access))
        yield from self._anchored(access, self._inner(access, roots))
        yield from self._in_root(access)
        for path in locked:
            if path.startswith("/"):
                yield self._mask(path, os.path.isdir(path), self.places.unreadable)
            else:
                yield from self.protected.lock_away(path, writable=access != "read")
        yield Mount("rw", STATE, state_pipe)
        yield Mount("seal", "/proc")
        yield Mount("seal", "/dev")
        yield Mount("seal", "/")

    def _inner(self, access: Access, roots: list[str]) -> Iterator[Mount]:
        for place in self._tools:
            yield Mount("ro", place, place)
        for path in self._keys:
            yield Mount("ro", path, self.places.empty)
        for place in self._readable:
            yield Mount("ro", place, place)
        if access == "full":
            for place in roots:
                yield Mount("rw", place, place)
            yield from self._beside(roots)
        for place in self._extra:  # after the writable ones: what is read-only stays read-only
            yield Mount("ro", place, place)
        yield from self._beside(self._extra)
        yield Mount("ro" if access == "read" else "rw", self.root, self.root)

    def _beside(self, roots: list[str]) -> Iterator[Mount]:
        """Yield masks in the directories beside the project: for credentials and for the runtime's own files."""
        paths = [path for path in (*self._credentials(), *self._hidden) if os.path.exists(path)]
        for path in _outermost(path for path in paths if any(is_below(path, one) or path == one for one in roots)):
            yield self._mask(path, os.path.isdir(path))

    def _credentials(self) -> list[str]:
        return [os.path.join(self._user_home, name) for name in _SECRETS]

    def _in_root(self, access: Access) -> Iterator[Mount]:
        self.protected.begin()
        yield from self.protected.runtime(writable=access != "read")
        yield from self.protected.outputs(writable=access != "read")
        if access == "write":
            yield from self.protected.git()
            for mount in runtime_mounts(self.root):
                if mount.kind == "ro":
                    yield from self.protected.keep(mount.target)
        paths = [*self._hidden, *filter(os.path.exists, self._secrets)]
        paths = [path for path in paths if is_below(path, self.root)]
        for path in _outermost(paths):
            holds = any(is_below(other, path) for other in paths)
            yield from self.protected.hide(path, writable=access != "read", directory=holds)

    def _mask(self, path: str, is_directory: bool, file: str = "") -> Mount:
        return Mount("ro", path, self.places.nothing if is_directory else file or self.places.empty)

    def _anchored(self, access: Access, mounts: Iterable[Mount]) -> Iterator[Mount]:
        """Move mount points in the private home and temp to the first level of what commands can change.

        Deeper mount points are created in a new tmpfs on that level. Otherwise a link that a command created on the
        way to a mount point could redirect the next sandbox's mounts.
        """
        areas = ((TEMPORARY, self.places.temporary(access)), (self.home, self.places.home(access)))
        done: set[str] = set()
        for mount in mounts:
            for area, directory in areas:
                if not is_below(mount.target, area) or any(
                    mount.target == other or is_below(mount.target, other) for other in done
                ):
                    continue
                first = mount.target[len(area) + 1 :].split("/", 1)[0]
                anchor = f"{area}/{first}"
                is_file = anchor == mount.target and os.path.isfile(mount.source)
                self.places.anchor(directory, first, file=is_file)
                done.add(anchor)
                if anchor != mount.target:
                    yield Mount("tmpfs", anchor)
            yield mount


def _names_of(path: str, root: str) -> list[str]:
    """Return where a path leads, and its own name below the root if it is a link, which a command could replace."""
    real = os.path.realpath(path)
    parent = path
    while parent != os.path.dirname(parent):
        parent = os.path.dirname(parent)
        if os.path.realpath(parent) == root:
            named = os.path.join(root, os.path.relpath(path, parent))
            return [real] if named == real else [real, named]
    return [real]


def _outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths once, without those in others of them: what lies in a hidden directory is hidden with it."""
    found = list(dict.fromkeys(paths))
    return [path for path in found if not any(is_below(path, other) for other in found)]


def _directory(path: str) -> str:
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"'{path}' is to be writable with full access, but there is no such directory.",
            "Ask the operator to make it, or to change TOOLGATE_SHELL_ROOTS.",
        )
    return real


def _grants(mounts: Iterable[Mount]) -> Iterator[Grant]:
    """Yield the view's rights as Landlock rules: everything is readable, and writable mounts are writable."""
    yield "/", "read"
    for mount in mounts:
        if mount.kind in ("rw", "tmpfs", "shm", "dev"):
            yield mount.target, "write"


def _require_narrow(root: str, home: str) -> None:
    """Raise `ToolError` if the project root holds more than a project."""
    if root in {"/", "/usr", "/etc", "/proc", "/dev", "/run", TEMPORARY}:
        raise ToolError(
            ErrorCode.ACCESS_DENIED,
            "The project root is a system directory, so commands cannot be confined to it.",
            "Choose a narrower project root.",
        )
    if root == os.path.dirname(home):
        raise ToolError(
            ErrorCode.ACCESS_DENIED,
            f"The home directory '{home}' is right in the project root, which may hold those of other users as well: "
            "commands cannot be confined to it.",
            "Choose a narrower project root, or set HOME to a directory outside it.",
        )
