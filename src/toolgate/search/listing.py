"""Lists one directory, sorted, one window at a time. Only the window is held in memory."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

from toolgate.errors import ToolError
from toolgate.search.walk import NEVER_SHOWN, TEMP_PREFIX
from toolgate.workspace.beneath import scan_directory

_BATCH = 4096


@dataclass(slots=True)
class Listing:
    """A window of a directory's entries."""

    entries: list[tuple[str, str]] = field(default_factory=list)
    """Name as shown, and `file`, `dir` or `link`. Sorted by path; a directory's path ends with `/`."""
    total: int = 0
    """Number of entries, hidden ones only if requested."""
    hidden: int = 0
    """Number of entries that were skipped because their names start with a dot."""
    unreadable_names: int = 0
    """Names that are not UTF-8."""
    complete: bool = True
    """False if the directory was not read completely."""


def list_directory(
    fd: int, *, offset: int, limit: int, include_hidden: bool, deadline: float, check: Callable[[], None]
) -> Listing:
    """List an open directory. Unfinished files of the runtime are skipped."""
    listing = Listing()
    wanted = offset + limit
    kept: list[tuple[str, str]] = []
    with scan_directory(fd) as entries:
        for count, entry in enumerate(entries):
            if count % _BATCH == _BATCH - 1:
                check()
                if time.monotonic() > deadline:
                    listing.complete = False
                    break
            name = entry.name
            if name.startswith(TEMP_PREFIX):
                continue
            if name.startswith(".") and not include_hidden:
                listing.hidden += 1
                continue
            listing.total += 1
            kept.append(_sort_key(entry))
            if len(kept) > 2 * wanted + _BATCH:
                kept = nsmallest(wanted, kept)
    for path, kind in sorted(kept)[offset:wanted]:
        name = path.removesuffix("/")
        shown = shown_name(name)
        listing.unreadable_names += shown != name
        listing.entries.append((shown, kind))
    listing.entries.sort(key=lambda entry: entry[0] + "/" * (entry[1] == "dir"))
    return listing


MAX_IN_A_TREE = 20_000
"""Most entries of a tree that are counted."""


def list_tree(
    open_directory: Callable[[str], int],
    *,
    depth: int,
    offset: int,
    limit: int,
    include_hidden: bool,
    deadline: float,
    check: Callable[[], None],
) -> Listing:
    """List a directory and those below it, to a depth, each directory before what it holds.

    `open_directory` opens one by its path below the start (empty for the start itself). Links and directories of
    version control systems are shown and not entered.
    """
    tree = Listing()
    pending = [("", 1)]
    while pending:
        path, level = pending.pop()
        if tree.total >= MAX_IN_A_TREE or time.monotonic() > deadline:
            tree.complete = False
            break
        if path:
            tree.entries.append((path.removesuffix("/"), "dir"))
            tree.total += 1
        if level > depth:
            continue
        listing = _children(open_directory, path, include_hidden=include_hidden, deadline=deadline, check=check)
        tree.complete = tree.complete and listing.complete
        tree.hidden += listing.hidden
        tree.unreadable_names += listing.unreadable_names
        below: list[tuple[str, int]] = []
        for name, kind in listing.entries:
            if kind == "dir":
                below.append((f"{path}{name}/", depth + 1 if name in NEVER_SHOWN or "\ufffd" in name else level + 1))
            else:
                tree.entries.append((f"{path}{name}", kind))
                tree.total += 1
        pending += reversed(below)
    tree.entries = tree.entries[offset : offset + limit]
    return tree


def _children(open_directory: Callable[[str], int], path: str, *, include_hidden: bool, **bounds: Any) -> Listing:
    try:
        fd = open_directory(path)
    except ToolError:
        if not path:
            raise
        return Listing()  # it is not readable, or gone
    try:
        return list_directory(fd, offset=0, limit=MAX_IN_A_TREE, include_hidden=include_hidden, **bounds)
    finally:
        os.close(fd)


def shown_name(name: str) -> str:
    """Return a name as results show it: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def _sort_key(entry: os.DirEntry[str]) -> tuple[str, str]:
    if entry.is_symlink():
        return entry.name, "link"
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/", "dir"
    return entry.name, "file"
