"""Lists one directory, sorted, one window at a time. Only the window is held in memory."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nsmallest

from toolgate.search.walk import TEMP_PREFIX
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


def shown_name(name: str) -> str:
    """Return a name as results show it: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def _sort_key(entry: os.DirEntry[str]) -> tuple[str, str]:
    if entry.is_symlink():
        return entry.name, "link"
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/", "dir"
    return entry.name, "file"
