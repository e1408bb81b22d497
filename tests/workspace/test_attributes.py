"""A file that replaces another one has its owner, mode and attributes."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from tests.support.privileges import run_apart
from toolgate.errors import ToolError
from toolgate.workspace.attributes import take_over


def _take_over(new: Path, old: Path) -> None:
    target, source = os.open(new, os.O_RDWR), os.open(old, os.O_RDONLY)
    try:
        take_over(target, source, os.fstat(source), "old.txt")
    finally:
        os.close(target)
        os.close(source)


def test_mode_and_attributes_are_taken_over(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    new.write_text("new")
    old.chmod(0o2751)
    os.setxattr(old, "user.note", b"mine")

    _take_over(new, old)

    assert stat.S_IMODE(new.stat().st_mode) == 0o2751
    assert os.getxattr(new, "user.note") == b"mine"
    assert new.read_text() == "new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else: run the tests as root")
def test_a_file_of_somebody_else_is_refused() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        old, new = Path(place, "old"), Path(place, "new")
        old.write_text("old")
        new.write_text("new")
        os.chown(new, 65534, 65534)

        def attempt() -> str:
            with pytest.raises(ToolError) as caught:
                _take_over(new, old)
            return caught.value.message

        assert "belongs to another user or group" in run_apart(65534, attempt)
