"""Which files a search looks at: `include` and `file_type`, for both engines."""

import re
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.search import globs
from toolgate.search.file_types import FILE_TYPES, similar
from toolgate.search.python_scan import FileFilter

PLAIN_GLOB = re.compile(r"[\w.*?,{}-]+", re.ASCII)
"""Globs that mean the same in ripgrep."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that both engines apply."""

    expressions: tuple[str | None, str | None, bool]
    """Regular expressions for a file's name and path, and whether matching paths are excluded."""
    name_globs: tuple[str, ...]
    """Globs that the names of all wanted files match, for ripgrep; empty if there are none."""
    wanted: FileFilter | None
    """Whether a file is searched, by its name and its path relative to the start; None: every file is."""

    @classmethod
    def of(cls, include: str | None, file_type: str | None) -> "Filter":
        """Build it from the arguments of a call. Raises `ToolError`."""
        names = None if file_type is None else _type_globs(file_type)
        pattern = None if include is None else include.removeprefix("!")
        negated = include is not None and include.startswith("!")
        name_regex = None if names is None else _any([globs.segment_regex(glob) for glob in names])
        path_regex = None if pattern is None else _any(_paths(pattern))
        expressions = (name_regex, path_regex, negated)
        if names is None and pattern is not None and not negated and PLAIN_GLOB.fullmatch(pattern):
            names = [pattern]
        is_open = name_regex is None and path_regex is None
        return cls(expressions, tuple(names or ()), None if is_open else FileFilter(*expressions))


def _type_globs(name: str) -> list[str]:
    if name in FILE_TYPES:
        return FILE_TYPES[name]
    near = similar(name)
    hint = f"Did you mean {', '.join(near)}? " if near else ""
    raise ToolError(
        ErrorCode.INVALID_PARAM,
        f"'file_type' {name!r} is unknown.",
        f"{hint}Known types: {', '.join(FILE_TYPES)}. Or use 'include' with a glob such as '*.ext'.",
    )


def _paths(pattern: str) -> list[str]:
    """Return the expressions of an `include`. One without a slash matches names in every directory."""
    try:
        choices = [globs.split(choice) for choice in globs.expand(pattern)]
        return [
            globs.path_regex(["**", *choice] if "/" not in pattern and choice[0] != "**" else choice)
            for choice in choices
            if choice
        ]
    except globs.GlobError as error:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"'include' is not a valid glob: {error}.",
            "For example: '*.py', 'src/**/*.{ts,tsx}'.",
        ) from None


def _any(expressions: list[str]) -> str:
    return "|".join(f"(?:{expression})" for expression in expressions) or "(?!)"
