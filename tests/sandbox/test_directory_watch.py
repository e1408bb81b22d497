"""Directories are watched for what is new, gone, or closed to others."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolgate.sandbox import directory_watch
from toolgate.sandbox.directory_watch import DirectoryWatch


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[DirectoryWatch]:
    (tmp_path / "file").write_text("")
    made = DirectoryWatch()
    made.add(str(tmp_path))
    yield made
    made.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda path: (path / "new").write_text(""),
        lambda path: (path / "file").unlink(),
        lambda path: (path / "file").rename(path.parent / f"{path.name}-other"),
        lambda path: (path / "file").chmod(0o600),
        lambda path: path.chmod(0o700),
        lambda path: path.rename(path.parent / f"{path.name}-moved"),
    ],
    ids=["new", "gone", "moved", "mode", "own mode", "moved itself"],
)
def test_a_change_is_noticed_once(watch: DirectoryWatch, tmp_path: Path, change: Callable[[Path], object]) -> None:
    before = watch.has_changed()
    change(tmp_path)

    assert (before, watch.has_changed(), watch.has_changed()) == (False, True, False)


def test_reading_and_writing_of_files_is_no_change(watch: DirectoryWatch, tmp_path: Path) -> None:
    os.listdir(tmp_path)
    (tmp_path / "file").write_text("text")

    assert (tmp_path / "file").read_text() == "text"
    assert not watch.has_changed()


def test_a_directory_that_is_not_there_is_no_error(watch: DirectoryWatch, tmp_path: Path) -> None:
    watch.add(str(tmp_path / "absent"))
    watch.add(str(tmp_path / "file"))

    assert not watch.has_changed()


def test_a_directory_that_cannot_be_watched_may_have_changed(
    watch: DirectoryWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_result: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directory_watch, "_check", refuse)
    watch.add(str(tmp_path))

    assert (watch.has_changed(), watch.has_changed()) == (True, False)
