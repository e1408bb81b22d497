"""Walking by descriptors."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.searching import open_descriptors, plant
from toolgate.search.ignore import Ignores
from toolgate.search.walk import CHUNK, MAX_DEPTH, TEMP_PREFIX, TreeWalk, inherited, is_never_shown
from toolgate.workspace import temporary


@pytest.fixture
def start(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def files(start: int, **options: Any) -> list[str]:
    """All files that a walk shows."""
    walk = TreeWalk(start, **{"ignores": Ignores(), **options})
    return sorted(folder.path + name for folder in walk for name in folder.keep(folder.files))


def test_everything_is_found_but_what_never_is(tmp_path: Path, start: int) -> None:
    plant(
        tmp_path,
        {
            "a": "",
            "b/c/d": "",
            ".git/config": "",
            "b/.git/x": "",
            ".toolgate/journal": "",
            f"{TEMP_PREFIX}1": "",
            ".x": "",
        },
    )

    assert files(start) == [".x", "a", "b/c/d"]


def test_ignored_directories_are_not_entered_and_are_named(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {".gitignore": "out/\n*.log\n", "out/x": "", "a.log": "", "d/b.log": "", "d/c": ""})
    walk = TreeWalk(start, ignores=Ignores())

    folders = list(walk)

    assert [name for folder in folders for name in folder.ignored] == ["out"]
    assert files(start) == [".gitignore", "d/c"]


def test_nothing_is_ignored_on_request(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {".gitignore": "out/\n", "out/x": ""})

    assert files(start, ignores=None) == [".gitignore", "out/x"]


def test_nested_ignore_files_count(tmp_path: Path, start: int) -> None:
    plant(
        tmp_path,
        {
            ".gitignore": "*.o\n",
            "a/.gitignore": "!keep.o\n",
            "a/keep.o": "",
            "a/b.o": "",
        },
    )

    assert files(start) == [".gitignore", "a/.gitignore", "a/keep.o"]


def test_links_are_reported_and_not_followed(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {"d/f": ""})
    (tmp_path / "self").symlink_to(".")
    (tmp_path / "d" / "up").symlink_to("..")

    assert files(start) == ["d/f"]
    assert sorted(folder.path + link for folder in TreeWalk(start, ignores=None) for link in folder.links) == [
        "d/up",
        "self",
    ]


def test_an_ignore_file_that_is_a_link_does_not_count(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {"rules": "*\n", "a": ""})
    (tmp_path / ".gitignore").symlink_to("rules")

    assert files(start) == ["a", "rules"]


def test_a_very_large_directory_comes_in_parts_with_its_rules(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {".gitignore": "*5\n"})
    for number in range(CHUNK + 10):
        (tmp_path / f"f{number}").touch()

    parts = [len(folder.files) for folder in TreeWalk(start, ignores=Ignores())]

    assert (len(parts), sum(parts)) == (2, CHUNK + 11)
    assert not any(name.endswith("5") for name in files(start))


def test_a_directory_that_cannot_be_read_is_named(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {"a/x": "", "b": ""})
    walk = TreeWalk(start, ignores=None)
    folders = iter(walk)
    next(folders)
    (tmp_path / "a").rename(tmp_path / "gone")

    assert list(folders) == []
    assert [path for path, _ in walk.unreadable] == ["a/"]


def test_too_deep_a_tree_ends_and_says_so(tmp_path: Path, start: int) -> None:
    deep = tmp_path
    os.makedirs(deep.joinpath(*["d"] * (MAX_DEPTH + 3)))
    walk = TreeWalk(start, ignores=None)

    assert (len(list(walk)), walk.too_deep) == (MAX_DEPTH + 1, "d/" * (MAX_DEPTH + 1))


def test_no_descriptor_is_left_open_when_a_walk_is_abandoned(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {"a/b/c/d/e": ""})
    before = open_descriptors()
    folders = iter(TreeWalk(start, ignores=None))
    for _ in range(4):
        next(folders)

    folders.close()  # type: ignore[attr-defined]

    assert open_descriptors() == before


def test_rules_from_above_are_collected_in_the_order_in_which_they_win(tmp_path: Path, start: int) -> None:
    plant(tmp_path, {".gitignore": "*.a\n/s/x\n", ".git/info/exclude": "*.e\n", "s/.gitignore": "!y.a\n", "s/t/f": ""})
    below = os.open(tmp_path / "s", os.O_RDONLY)

    try:
        assert inherited([start, below], ["s", "t"]) == ["/**/*.e", "/**/*.a", "!/**/y.a"]
        assert inherited([start], []) == ["/**/*.e"]
    finally:
        os.close(below)


@pytest.mark.parametrize(
    ("path", "own"),
    [(".git/config", True), ("a/.toolgate/x", True), (f"a/{TEMP_PREFIX}1", True), (".gitignore", False)],
)
def test_own_paths_are_known(path: str, own: bool) -> None:
    assert is_never_shown(path) is own


def test_the_prefix_is_the_one_that_writers_use() -> None:
    assert TEMP_PREFIX == temporary.TEMPORARY
