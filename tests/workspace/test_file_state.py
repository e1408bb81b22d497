"""What a file is recognised by."""

import os
from pathlib import Path

import pytest

from toolgate.workspace.file_state import digest_file, digest_of, identity, is_settled, stamp, state_of_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("one")
    return path


def _state(path: Path) -> str:
    with path.open("rb") as opened:
        return state_of_file(opened.fileno(), os.fstat(opened.fileno()))


def test_a_small_file_is_known_by_its_content_whatever_its_times_say(file: Path) -> None:
    before = _state(file)
    os.utime(file, (0, 0))
    assert _state(file) == before

    file.write_text("two")
    assert _state(file) != before


def test_a_large_file_is_known_by_its_stamp(file: Path) -> None:
    os.truncate(file, 1 << 19)
    before = _state(file)
    os.utime(file, (0, 0))

    assert _state(file) != before


def test_another_mode_changes_the_identity_and_not_the_stamp(file: Path) -> None:
    before = file.stat()
    file.chmod(0o600)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()

    assert stamp(before) == stamp(after)
    assert identity(before) != identity(after)


def test_a_file_that_was_just_changed_is_not_settled(file: Path) -> None:
    future = file.stat().st_mtime + 3600
    os.utime(file, (future, future))

    assert not is_settled(file.stat())


def test_a_file_that_is_too_large_has_no_hash(file: Path) -> None:
    with file.open("rb") as opened:
        info = os.fstat(opened.fileno())
        assert digest_file(opened.fileno(), info) == digest_of(b"one")
        assert digest_file(opened.fileno(), info, limit=2) is None
