"""Toolchains in a home directory: readable if PATH leads to them, without the credentials beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable

_WHOLE = frozenset(
    ".pyenv .rbenv .nodenv .jenv .asdf .nvm .volta .fnm .bun .deno .cargo .rustup .sdkman .ghcup .opam .juliaup .dotnet"
    " .npm-global .poetry .nix-profile go miniconda3 anaconda3 miniforge3 mambaforge".split()
)
"""Directories directly in a home that hold only a toolchain."""
_WITH = {
    ".cargo": (".rustup",),
    ".local/bin": (".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise"),
}
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/gnu", "/snap", "/etc")
_KEYS = (".cargo/credentials", ".cargo/credentials.toml")


def toolchains(path_entries: Iterable[str], home: str) -> tuple[str, ...]:
    """Return the directories outside the system that the entries of PATH need, parents first."""
    found: set[str] = set()
    for entry in path_entries:
        for place in {entry, os.path.realpath(entry)}:
            if os.path.isdir(place) and not _inside(place, _SYSTEM):
                owner = _home_of(place, home)
                found.update(_installation(place) if owner is None else _in_home(place, owner))
    existing = sorted(place for place in found if os.path.isdir(place) and place != home)
    return tuple(place for place in existing if not _inside_other(place, existing))


def keys(places: Iterable[str], home: str) -> tuple[str, ...]:
    """Return files with credentials inside those directories."""
    candidates = (os.path.join(home, name) for name in _KEYS)
    return tuple(path for path in candidates if os.path.isfile(path) and _inside(path, tuple(places)))


def _in_home(place: str, home: str) -> set[str]:
    relative = os.path.relpath(place, home)
    first = relative.split("/", 1)[0]
    companions = _WITH.get(first, ()) + _WITH.get(relative, ())
    found = {os.path.join(home, name) for name in companions}
    if first in _WHOLE:
        return found | {os.path.join(home, first)}
    return found | _installation(place)


def _home_of(place: str, home: str) -> str | None:
    """Return the home directory, of any user, that contains a path."""
    if _inside(place, (home,)):
        return home
    parts = place.split("/")
    if parts[1] == "root":
        return "/root"
    return "/".join(parts[:3]) if parts[1] == "home" and len(parts) > 3 else None


def _installation(place: str) -> set[str]:
    """Return a `bin` directory with its virtual environment, or else with its libraries."""
    parent = os.path.dirname(place)
    if _is_environment(parent):
        return {parent}
    if os.path.basename(place) not in {"bin", "sbin"} or parent in {"/", "/home", "/root"}:
        return {place}
    return {place, *(os.path.join(parent, name) for name in ("lib", "lib64", "libexec", "share"))}


def _is_environment(directory: str) -> bool:
    return any(os.path.exists(os.path.join(directory, mark)) for mark in ("pyvenv.cfg", "conda-meta"))


def _inside(path: str, directories: Iterable[str]) -> bool:
    return any(path == directory or path.startswith(directory.rstrip("/") + "/") for directory in directories)


def _inside_other(place: str, places: list[str]) -> bool:
    return any(place != other and _inside(place, (other,)) for other in places)
