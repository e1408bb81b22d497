"""Landlock, on a thread of its own."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.searching import plant
from toolgate.process import landlock

needs_landlock = pytest.mark.skipif(
    landlock.version() == 0, reason="the kernel has no Landlock; run on Linux 5.13 or newer with it enabled"
)


def restricted(readable: list[int | str], work: Callable[[], object]) -> object:
    """What `work` gives on a thread that may read nothing else, or the error that it raises."""
    outcome: list[object] = []

    def body() -> None:
        try:
            landlock.restrict_thread(readable)
            outcome.append(work())
        except OSError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return outcome[0]


@needs_landlock
def test_only_what_is_named_can_be_read(tmp_path: Path) -> None:
    plant(tmp_path, {"in/a": "inside", "out/b": "outside"})
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")

    assert restricted([str(tmp_path / "in")], (tmp_path / "in" / "a").read_text) == "inside"
    assert restricted([str(tmp_path / "in")], (tmp_path / "in" / "link" / "b").read_text) is PermissionError
    assert restricted([str(tmp_path / "in")], lambda: os.listdir(tmp_path / "out")) is PermissionError


@needs_landlock
def test_the_rest_of_the_process_is_free(tmp_path: Path) -> None:
    plant(tmp_path, {"out/b": "outside"})
    restricted([], lambda: None)

    assert (tmp_path / "out" / "b").read_text() == "outside"


def test_a_program_that_needs_libraries_is_told_apart(tmp_path: Path) -> None:
    plant(tmp_path, {"script": "#!/bin/sh\n"})

    assert [landlock.is_static(path) for path in ("/bin/sh", str(tmp_path / "script"), "/nowhere")] == [False] * 3
