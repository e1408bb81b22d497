"""The surroundings of a command for its analysis, from the workspace and the shell's state."""

from __future__ import annotations

import functools
import posixpath
import stat
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolgate.command.analysis.plan import Kind, Surroundings
from toolgate.command.analysis.scope import MAX_SCRIPT
from toolgate.command.definitions import definitions
from toolgate.command.line import read_line
from toolgate.errors import ToolError
from toolgate.sandbox.git.index import MAX_BYTES as MAX_INDEX
from toolgate.sandbox.system_paths import private_configuration
from toolgate.search.listing import list_directory
from toolgate.shell.git_programs import Files, git_programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolgate.shell.state import ShellState, Variable
    from toolgate.workspace import Workspace

_MAX_ENTRIES = 2000
"""Most names of a directory that patterns are compared with."""
_MAX_OWN_DIRECTORIES = 64
"""Most directories of `PATH` inside the root in which a command name is looked up."""
_SYSTEM = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"})


def surroundings(workspace: Workspace, state: ShellState) -> Surroundings:
    """Return the surroundings of a command that is run now."""
    root = str(workspace.root)
    environment = {
        name.decode(errors="replace"): value.decode(errors="replace") for name, value in state.environment.items()
    }
    path = _value(state, b"PATH")
    directory = _relative(state.directory.decode(errors="replace"), root)
    return Surroundings(
        root=root,
        cwd=directory,
        home=environment.get("HOME", ""),
        scratch=("/tmp",),
        hidden=_paths(private_configuration()),
        kind=_kinds(workspace),
        entries=_entries(workspace),
        functions=definitions(state.functions.decode(errors="replace")),
        aliases=_Aliases(state.aliases),
        shadows=_look_up(workspace, _own_directories(path, root, directory), 0o111),
        sourced=_look_up(workspace, _own_directories(path, root, directory, behind_system=True), 0o444),
        content=_contents(workspace),
        git_programs=functools.partial(git_programs, Files(root, _kinds(workspace), _bytes(workspace))),
        holds_code=lambda: any(_is_code(variable) for variable in state.variables.values()),
        evaluates=lambda: any("i" in variable.flags or "n" in variable.flags for variable in state.variables.values()),
    )


def _value(state: ShellState, name: bytes) -> str:
    """Return a variable's value, also if programs do not see it; the shell itself uses it."""
    variable = state.variables.get(name)
    return ((variable.value if variable is not None else None) or b"").decode(errors="replace")


class _Aliases(Mapping[str, str]):
    """The shell's aliases. Each is read on demand, because there may be thousands."""

    def __init__(self, aliases: Mapping[bytes, bytes]) -> None:
        self._aliases = aliases

    def __getitem__(self, name: str) -> str:
        return _alias(self._aliases[name.encode(errors="surrogatepass")].decode(errors="replace"))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.encode(errors="surrogatepass") in self._aliases

    def __iter__(self) -> Iterator[str]:
        return (name.decode(errors="replace") for name in self._aliases)

    def __len__(self) -> int:
        return len(self._aliases)


@functools.lru_cache(maxsize=1)
def _paths(found: tuple[tuple[str, bool], ...]) -> frozenset[str]:
    return frozenset(path for path, _ in found)


def _is_code(variable: Variable) -> bool:
    return variable.literal is not None and (b"$(" in variable.literal or b"`" in variable.literal)


def _alias(value: str) -> str:
    words = read_line(value).words
    return words[0].text if len(words) == 1 and words[0].known else value


def _relative(directory: str, root: str) -> str:
    if not directory.startswith("/"):
        return directory or "."
    inside = posixpath.relpath(directory, root)
    return directory if inside == ".." or inside.startswith("../") else inside


def _kinds(workspace: Workspace) -> Callable[[str], Kind]:
    def kind(path: str) -> Kind:
        try:
            info = workspace.stat(path)
        except ToolError:
            # what cannot be examined may exist
            return "file"
        if info is None:
            return "absent"
        return "directory" if stat.S_ISDIR(info.st_mode) else "file"

    return kind


def _entries(workspace: Workspace) -> Callable[[str], tuple[str, ...] | None]:
    def entries(path: str) -> tuple[str, ...] | None:
        parts = () if path == "." else tuple(path.split("/"))
        try:
            with workspace.directory(parts) as fd:
                listing = list_directory(
                    fd,
                    offset=0,
                    limit=_MAX_ENTRIES,
                    include_hidden=True,
                    deadline=time.monotonic() + 1,
                    check=lambda: None,
                )
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError:
            return None
        if not listing.complete or listing.total > _MAX_ENTRIES or listing.unreadable_names:
            return None
        return tuple(name for name, _ in listing.entries)

    return entries


def _contents(workspace: Workspace) -> Callable[[str], str | None]:
    read = _bytes(workspace, MAX_SCRIPT * 4 + 1)

    def content(path: str) -> str | None:
        text = read(path)
        return None if text is None or b"\0" in text else text.decode(errors="replace")

    return content


def _bytes(workspace: Workspace, max_bytes: int = MAX_INDEX) -> Callable[[str], bytes | None]:
    def read(path: str) -> bytes | None:
        try:
            with workspace.open_file(path) as file:
                return file.read(min(max_bytes, file.stat.st_size), 0)
        except (ToolError, OSError):
            return None

    return read


def _look_up(workspace: Workspace, directories: tuple[str, ...], mode: int) -> Callable[[str], str | None]:
    """Look a name up in directories inside the root: a file with any of the permissions `mode`."""

    def shadow(word: str) -> str | None:
        if len(directories) > _MAX_OWN_DIRECTORIES:
            return posixpath.normpath(f"{directories[0]}/{word}")
        for directory in directories:
            candidate = posixpath.normpath(f"{directory}/{word}")
            try:
                info = workspace.stat(candidate)
            except ToolError:
                return candidate
            if info is not None and stat.S_ISREG(info.st_mode) and info.st_mode & mode:
                return candidate
        return None

    return shadow


@functools.lru_cache(maxsize=64)
def _own_directories(path: str, root: str, cwd: str, *, behind_system: bool = False) -> tuple[str, ...]:
    """Return the directories of `PATH` inside the root: those before the system's, or all of them."""
    directories: list[str] = []
    for entry in path.split(":") if path else ():
        if posixpath.normpath(entry or ".") in _SYSTEM and not behind_system:
            break
        place = (
            _relative(posixpath.normpath(entry), root)
            if entry.startswith("/")
            else posixpath.normpath(f"{cwd}/{entry}")
        )
        if not place.startswith(("/", "../")) and place != "..":
            directories.append(place)
    return tuple(directories)
