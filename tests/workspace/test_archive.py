"""A directory that is packed and unpacked elsewhere is the same, and a failure leaves what was there."""

import os
from pathlib import Path

import pytest

from toolgate.errors import WorkspaceError
from toolgate.workspace import archive
from toolgate.workspace.threads import Stop


def _tree(root: Path) -> Path:
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "run.sh").write_text("echo\n")
    (root / "sub" / "run.sh").chmod(0o755)
    (root / "link").symlink_to("sub/run.sh")
    os.mkfifo(root / "pipe")
    os.utime(root / "sub" / "run.sh", ns=(1, 1_700_000_000_123_456_789))
    return root


def test_files_modes_links_and_exact_times_come_along_and_pipes_do_not(tmp_path: Path) -> None:
    packed, there = str(tmp_path / "packed"), tmp_path / "there"
    digest, size = archive.pack(Stop(), str(_tree(tmp_path / "here")), packed, 1_000_000)
    archive.unpack(Stop(), packed, str(there))
    info = (there / "sub" / "run.sh").stat()

    assert sorted(str(path.relative_to(there)) for path in there.rglob("*")) == ["link", "sub", "sub/run.sh"]
    assert (info.st_mode & 0o777, info.st_mtime_ns) == (0o755, 1_700_000_000_123_456_789)
    assert os.readlink(there / "link") == "sub/run.sh"
    assert (len(digest), size) == (64, os.path.getsize(packed))
    assert b"".join(archive.pieces(packed)) == Path(packed).read_bytes()


def test_more_than_allowed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        archive.pack(Stop(), str(_tree(tmp_path / "here")), str(tmp_path / "packed"), 1000)


@pytest.mark.parametrize("content", [b"", b"no archive", b"x" * 20_000], ids=["empty", "short", "long"])
def test_what_cannot_be_unpacked_leaves_the_directory_as_it_was(tmp_path: Path, content: bytes) -> None:
    there = _tree(tmp_path / "there")
    (tmp_path / "packed").write_bytes(content)
    with pytest.raises(WorkspaceError):
        archive.unpack(Stop(), str(tmp_path / "packed"), str(there))

    assert (there / "sub" / "run.sh").read_text() == "echo\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed", "there"]


def test_a_signature_changes_with_every_write(tmp_path: Path) -> None:
    root = _tree(tmp_path / "here")
    before = archive.signature(Stop(), str(root))
    same = archive.signature(Stop(), str(root))
    (root / "new").touch()

    assert same == before
    assert archive.signature(Stop(), str(root)) != before


def test_a_directory_is_known_as_stored_until_something_is_done_in_it(tmp_path: Path) -> None:
    root = str(_tree(tmp_path / "here"))
    archive.mark_stored(Stop(), root, "hash")
    known = archive.is_unchanged(Stop(), root, "hash"), archive.is_unchanged(Stop(), root, "another")
    archive.unmark_stored(Stop(), root)

    assert known == (True, False)
    assert not archive.is_unchanged(Stop(), root, "hash")
