"""Paths as text: refuses invalid ones and returns the normal form relative to the root.

This decides nothing about safety: `confine` does, on descriptors. It only normalises what was typed.
"""

import posixpath
from functools import lru_cache

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.workspace.oserrors import quote

MAX_PATH = 4095
"""Longest path on Linux, in bytes."""
MAX_NAME = 255
"""Longest component, in bytes."""

_PLAIN = "Pass a plain path relative to the project root; '.' is the root itself."


def check_spelling(path: str) -> None:
    """Refuse what cannot name a file: empty, with NUL or lone surrogates, or too long."""
    if not path:
        raise ToolError(ErrorCode.INVALID_PARAM, "The path is empty.", _PLAIN)
    if "\0" in path:
        raise ToolError(ErrorCode.INVALID_PARAM, f"{quote(path)} contains a NUL character.", _PLAIN)
    try:
        encoded = path.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError(
            ErrorCode.INVALID_PARAM, f"{quote(path)} contains a lone surrogate and is not valid Unicode.", _PLAIN
        ) from None
    longest = max(map(len, encoded.split(b"/")))
    if len(encoded) > MAX_PATH or longest > MAX_NAME:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"{quote(path)} is too long: at most {MAX_PATH} bytes, {MAX_NAME} in each name.",
            _PLAIN,
        )


def outside(path: str) -> ToolError:
    """Return the error for a path outside the root. It is the same whether or not anything exists there."""
    return ToolError(
        ErrorCode.ACCESS_DENIED,
        f"{quote(path)} is outside the project root.",
        "Use a path inside the project root, such as one that 'ls' shows.",
    )


@lru_cache(1024)
def normal(path: str, roots: tuple[str, ...], cwd: str = ".") -> str:
    """Return the normal POSIX form of `path` relative to the root. `roots` are the absolute names of the root."""
    check_spelling(path)
    if path.startswith("/"):
        absolute = "/" + posixpath.normpath(path).lstrip("/")
        below = _below(absolute.split("/"), roots)
        if below is None:
            raise outside(path)
        return "/".join(below) or "."
    joined = posixpath.normpath(posixpath.join(cwd, path))
    if joined == ".." or joined.startswith(("../", "/")):
        raise outside(path)
    return joined


def climbing(path: str, roots: tuple[str, ...], cwd: str = ".") -> list[str] | None:
    """Return the components of `path` from the root, including every `..`; None if it does not start at the root."""
    check_spelling(path)
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/"):
        return _below(["", *names], roots)
    return [*([] if cwd == "." else cwd.split("/")), *names]


def _below(names: list[str], roots: tuple[str, ...]) -> list[str] | None:
    """Return the components after the root's name in an absolute path; None if it is outside."""
    for root in roots:
        above = root.rstrip("/").split("/")
        if names[: len(above)] == above:
            return names[len(above) :]
    return None
