"""Completes paths: the files and directories that fit what a person has typed so far."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from toolgate.process.streaming import Bounds
from toolgate.search.glob_search import find
from toolgate.search.python_glob import Pattern

if TYPE_CHECKING:
    from toolgate.workspace import Stop, Workspace

_MAX_PATHS = 50
_MAX_FILES = 20_000
"""Files that a completion chooses from."""
_SECONDS = 3.0


def complete_path(
    stop: Stop, workspace: Workspace, query: str, output_dir: str, ripgrep: str | None = None
) -> list[str]:
    """Return the paths that fit what was typed, best first: its letters in this order, words and names first."""
    found = find(
        workspace,
        ".",
        Pattern([["**"]]),
        limit=_MAX_FILES,
        include_ignored=False,
        output_dir=output_dir,
        setting=ripgrep,
        bounds=Bounds(deadline=time.monotonic() + _SECONDS, stop=stop),
    )
    typed = query.removeprefix("./").casefold()
    folders = {f"{path[:at]}/" for path in found.paths for at, letter in enumerate(path) if letter == "/"}
    ranked = [(rank, len(path), path) for path in (*found.paths, *folders) if (rank := _rank(path, typed)) is not None]
    return [path for _, _, path in sorted(ranked)[:_MAX_PATHS]]


def _rank(path: str, typed: str) -> int | None:
    """Return how well a path fits: the lower the better; None if it does not."""
    folded = path.casefold()
    name = folded.rstrip("/").rsplit("/", 1)[-1]
    if folded.startswith(typed):
        return 0 if "/" not in folded[len(typed) :].rstrip("/") else 2
    if name.startswith(typed):
        return 1
    if typed in name:
        return 3
    if typed in folded:
        return 4
    letters = iter(folded)
    return 5 if all(letter in letters for letter in typed) else None
