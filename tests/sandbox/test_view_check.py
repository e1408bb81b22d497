"""A finished view is looked at from outside: every mount is the file that was planned."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolgate.sandbox.view import RedirectableMount
from toolgate.sandbox.view_check import view_difference


@pytest.fixture
def shell() -> Iterator[int]:
    """A process whose view is that of the host."""
    process = subprocess.Popen(["sleep", "60"])
    yield process.pid
    process.kill()
    process.wait()


def _check(path: Path, *, inode: int | None = None, read_only: bool = False) -> RedirectableMount:
    info = path.stat()
    return RedirectableMount(
        target=str(path), device=info.st_dev, inode=info.st_ino if inode is None else inode, read_only=read_only
    )


def test_the_planned_view_is_confirmed(shell: int, tmp_path: Path) -> None:
    assert view_difference(shell, [_check(tmp_path)]) == ""


def test_another_file_in_a_place_is_named(shell: int, tmp_path: Path) -> None:
    found = view_difference(shell, [_check(tmp_path, inode=1)])

    assert found == f"'{tmp_path}' was replaced while the sandbox was being set up"


def test_a_place_that_should_be_read_only_and_is_not_is_named(shell: int, tmp_path: Path) -> None:
    assert str(tmp_path) in view_difference(shell, [_check(tmp_path, read_only=True)])


def test_a_link_in_a_place_is_never_followed(shell: int, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)

    assert str(link) in view_difference(shell, [_check(link)])


def test_a_view_that_ended_is_said() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()

        assert view_difference(process.pid, []).startswith("the sandbox cannot be checked")
