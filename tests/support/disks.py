"""Real file systems that are small, and that can be taken away."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = 4096


def mount(path: Path, size: int, uid: int) -> None:
    """Mount an empty file system of so many bytes, which belongs to that user; skips where that is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root: run the tests as root")
    options = f"size={size},uid={uid},gid={uid},mode=755"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here: run the tests in a privileged container")


def unmount(path: Path) -> None:
    """Unmount a file system, even if it is used."""
    subprocess.run(["umount", "-l", path], check=True)


@contextmanager
def small_disk(path: Path, size: int, uid: int) -> Iterator[None]:
    """A file system of so many bytes for a while."""
    mount(path, size, uid)
    try:
        yield
    finally:
        unmount(path)


def fill(path: Path, left: int) -> None:
    """Leave so many bytes of the file system free."""
    info = os.statvfs(path)
    room = info.f_bavail * info.f_frsize - left
    with open(path / "filler", "ab") as filler:
        filler.write(bytes(max(0, room)))
