"""What a search passes over."""

import os
from pathlib import Path

import pytest

from tests.searching import plant
from toolgate.search import skipped as survey
from toolgate.search.skipped import SkippedFiles


def surveyed(root: Path, *, include_ignored: bool = False, give_up: bool = False) -> SkippedFiles:
    """A survey of `root`."""
    fd = os.open(root, os.O_RDONLY)
    try:
        found = SkippedFiles(fd, inherited=None if include_ignored else [], hidden=(), wanted=None)
        found.run(lambda: give_up)
        return found
    finally:
        os.close(fd)


def test_binary_files_and_ignored_directories_are_found(tmp_path: Path) -> None:
    plant(tmp_path, {"a.bin": b"\0", "b.py": b"x\0", "c": "text", "d/e.png": b"\x89PNG\0", "u": "x".encode("utf-16")})
    plant(tmp_path, {".gitignore": "out/\n*.o\n", "out/f.bin": b"\0", "g.o": b"\0"})

    found = surveyed(tmp_path)

    assert (sorted(found.binary), found.ignored, found.complete) == (["a.bin", "b.py", "d/e.png"], ["out/"], True)


def test_ignored_files_are_looked_at_on_request(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "out/\n", "out/f.bin": b"\0"})

    assert surveyed(tmp_path, include_ignored=True).binary == ["out/f.bin"]


def test_it_gives_up_when_told(tmp_path: Path) -> None:
    plant(tmp_path, {"a.bin": b"\0"})

    found = surveyed(tmp_path, give_up=True)

    assert (found.binary, found.complete) == ([], False)


def test_it_stops_at_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MAX_OPENED", 3)
    plant(tmp_path, {f"{number}.bin": b"\0" for number in range(5)})

    found = surveyed(tmp_path)

    assert (len(found.binary), found.complete) == (3, False)
