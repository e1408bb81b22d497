"""Entries are renamed inside their directory, also where a command has closed it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolgate.sandbox.git.quarantine import SUFFIX, set_aside


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_an_entry_is_renamed_and_keeps_its_content(tmp_path: Path, directory: int) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "pre-commit").write_text("x")

    assert set_aside(directory, "hooks")

    (moved,) = tmp_path.iterdir()
    assert moved.name.startswith(f"hooks{SUFFIX}")
    assert (moved / "pre-commit").read_text() == "x"


def test_a_link_is_moved_itself_and_its_target_stays(tmp_path: Path, directory: int) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")

    assert set_aside(directory, "link")

    assert (tmp_path / "target").is_dir()
    assert not (tmp_path / "link").is_symlink()


def test_what_is_gone_is_not_set_aside(directory: int) -> None:
    assert not set_aside(directory, "gone")


def test_two_names_are_never_the_same(tmp_path: Path, directory: int) -> None:
    for _ in range(2):
        (tmp_path / "config").write_text("x")
        assert set_aside(directory, "config")

    assert len(list(tmp_path.iterdir())) == 2
