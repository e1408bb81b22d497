"""An archive that builds on a commit has only what is not in the commit, and is whole again with any clone of it."""

import os
from pathlib import Path

import pytest

from toolgate.errors import WorkspaceError
from toolgate.workspace import archive, archive_base
from toolgate.workspace.threads import Stop

BIG = os.urandom(300_000)


def _clone(place: Path, pack: str = "one") -> Path:
    """What a clone looks like to this room: files, configuration, and objects under names of their own."""
    (place / ".git" / "objects" / "pack").mkdir(parents=True)
    (place / ".git" / "objects" / "pack" / f"pack-{pack}.pack").write_bytes(BIG)
    (place / ".git" / "config").write_text("[core]\n")
    (place / "sub").mkdir()
    (place / "big.bin").write_bytes(BIG)
    for name in ("changed.txt", "removed.txt", "sub/same.txt"):
        (place / name).write_text("base\n")
    return place


def _packed(here: Path, path: Path) -> int:
    """The archive of a directory in which something was done after it was cloned."""
    base = archive_base.observe(Stop(), str(here), "c" * 40, archive_base.of_commit(Stop(), str(here)))
    (here / "changed.txt").write_text("more\n")  # of the same size
    os.utime(here / "changed.txt", ns=(0, base.stamps["./changed.txt"][1]))  # and of the same time
    (here / "removed.txt").unlink()
    (here / "new.txt").write_text("new\n")
    (here / ".git" / "config").write_text("[core]\n[user]\n")
    os.utime(here / ".git" / "objects" / "pack" / "pack-one.pack")  # as git does when it finds an object there
    (here / ".git" / "objects" / "ab").mkdir()
    (here / ".git" / "objects" / "ab" / "cd").write_bytes(b"object")
    return archive.pack(Stop(), str(here), str(path), 10_000_000, base)[1]


def test_only_what_differs_is_packed_and_the_rest_comes_from_another_clone(tmp_path: Path) -> None:
    here, there = _clone(tmp_path / "here"), tmp_path / "there"
    size = _packed(here, tmp_path / "packed")
    names = archive.unpack(Stop(), str(tmp_path / "packed"), str(there), str(_clone(tmp_path / "other", "two")))
    objects = there / ".git" / "objects"
    files = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()}

    assert size < 100_000
    assert archive.commit_of(Stop(), str(tmp_path / "packed")) == "c" * 40
    assert files == {
        "big.bin", "changed.txt", "new.txt", "sub/same.txt", ".git/config",
        ".git/objects/ab/cd", ".git/objects/pack/pack-two.pack",
    }  # fmt: skip
    assert (there / "big.bin").read_bytes() == BIG
    assert (there / "changed.txt").read_text() == "more\n"
    assert (there / ".git" / "config").read_text() == "[core]\n[user]\n"
    assert (there / "big.bin").stat().st_mtime_ns == (here / "big.bin").stat().st_mtime_ns
    assert (objects / "pack" / "pack-two.pack").read_bytes() == BIG
    assert sorted(names) == ["./.git/objects/pack/pack-two.pack", "./big.bin", "./sub/same.txt"]


def test_it_moves_on_from_the_second_place_and_is_still_small(tmp_path: Path) -> None:
    _packed(_clone(tmp_path / "here"), tmp_path / "packed")
    there, third = tmp_path / "there", tmp_path / "third"
    names = archive.unpack(Stop(), str(tmp_path / "packed"), str(there), str(_clone(tmp_path / "other", "two")))
    base = archive_base.observe(Stop(), str(there), "c" * 40, names)
    size = archive.pack(Stop(), str(there), str(tmp_path / "again"), 10_000_000, base)[1]
    archive.unpack(Stop(), str(tmp_path / "again"), str(third), str(_clone(tmp_path / "another", "three")))

    assert size < 100_000
    assert (third / "changed.txt").read_text() == "more\n"
    assert (third / "big.bin").read_bytes() == BIG
    assert not (third / "removed.txt").exists()


def test_without_a_clone_or_with_one_that_lacks_a_file_nothing_is_replaced(tmp_path: Path) -> None:
    _packed(_clone(tmp_path / "here"), tmp_path / "packed")
    there = tmp_path / "there"
    there.mkdir()
    (there / "kept").touch()
    wrong = _clone(tmp_path / "wrong")
    (wrong / "big.bin").unlink()
    with pytest.raises(WorkspaceError, match="set up all alike"):
        archive.unpack(Stop(), str(tmp_path / "packed"), str(there))
    with pytest.raises(WorkspaceError, match=r"big\.bin"):
        archive.unpack(Stop(), str(tmp_path / "packed"), str(there), str(wrong))

    assert [path.name for path in there.iterdir()] == ["kept"]
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".new")] == []


@pytest.mark.parametrize("link", [".git", ".git/objects"])
def test_objects_are_not_moved_through_a_link_that_leads_out_of_the_directory(tmp_path: Path, link: str) -> None:
    here, outside = _clone(tmp_path / "here"), tmp_path / "outside"
    (outside / "objects").mkdir(parents=True)
    base = archive_base.observe(Stop(), str(here), "c" * 40, archive_base.of_commit(Stop(), str(here)))
    (here / link).rename(tmp_path / "aside")
    (here / link).symlink_to(outside)
    archive.pack(Stop(), str(here), str(tmp_path / "packed"), 10_000_000, base)
    archive.unpack(Stop(), str(tmp_path / "packed"), str(tmp_path / "there"), str(_clone(tmp_path / "other")))

    assert [str(path) for path in outside.rglob("*") if path.is_file()] == []
    assert os.readlink(tmp_path / "there" / link) == str(outside)
