"""One directory, sorted, one window at a time."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolgate.search import listing
from toolgate.search.listing import Listing, list_directory
from toolgate.search.walk import TEMP_PREFIX


def listed(
    directory: Path,
    *,
    offset: int = 0,
    limit: int = 100,
    include_hidden: bool = False,
    seconds: float = 60.0,
    check: Callable[[], None] = lambda: None,
) -> Listing:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return list_directory(
            fd,
            offset=offset,
            limit=limit,
            include_hidden=include_hidden,
            deadline=time.monotonic() + seconds,
            check=check,
        )
    finally:
        os.close(fd)


def test_entries_are_sorted_by_path_with_their_kind(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a-b", "a.txt", "b"):
        (tmp_path / name).touch()
    (tmp_path / "c").symlink_to("nowhere")
    assert listed(tmp_path).entries == [
        ("a-b", "file"),
        ("a.txt", "file"),
        ("a", "dir"),
        ("b", "file"),
        ("c", "link"),
    ]


def test_a_window_is_a_part_of_the_whole_list(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}").touch()
    window = listed(tmp_path, offset=3, limit=2)
    assert (window.entries, window.total) == ([("3", "file"), ("4", "file")], 10)


def test_hidden_entries_are_counted_and_unfinished_files_do_not_exist(tmp_path: Path) -> None:
    for name in (".hidden", f"{TEMP_PREFIX}x", "shown"):
        (tmp_path / name).touch()
    found = listed(tmp_path)
    assert (found.entries, found.total, found.hidden) == ([("shown", "file")], 1, 1)
    every = listed(tmp_path, include_hidden=True)
    assert ([name for name, _ in every.entries], every.hidden) == ([".hidden", "shown"], 0)


def test_a_name_that_is_not_utf8_is_shown_and_counted(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff")).touch()
    found = listed(tmp_path)
    assert (found.entries, found.unreadable_names) == ([("a\ufffd", "file")], 1)


def test_a_directory_that_takes_too_long_is_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_BATCH", 4)
    for number in range(10):
        (tmp_path / f"{number}").touch()
    checks: list[None] = []
    found = listed(tmp_path, seconds=-1, check=lambda: checks.append(None))
    assert not found.complete
    assert (found.total, len(checks)) == (3, 1)


def test_only_the_window_is_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_BATCH", 4)
    for number in range(100):
        (tmp_path / f"{number:03}").touch()
    found = listed(tmp_path, offset=1, limit=2)
    assert (found.entries, found.total) == ([("001", "file"), ("002", "file")], 100)
