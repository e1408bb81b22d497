"""A process that only reads, in a directory that is given by its descriptor."""

import os
from pathlib import Path

import pytest

from toolgate.process import landlock
from toolgate.process.read_only import ReadOnlyCommand, memory_file, start


def _output(command: ReadOnlyCommand) -> tuple[int, bytes]:
    process = start(command)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


def test_it_starts_in_the_directory_with_a_minimal_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        code, out = _output(
            ReadOnlyCommand(argv=["/bin/sh", "-c", "pwd -P; env | grep -c SECRET"], directory=directory)
        )
    finally:
        os.close(directory)

    assert (code, out.decode()) == (1, f"{tmp_path}\n0\n")


def test_its_input_is_empty_or_the_one_that_is_given() -> None:
    content = memory_file(b"given")
    try:
        assert _output(ReadOnlyCommand(argv=["/bin/cat"], directory=None, stdin=content)) == (0, b"given")
    finally:
        os.close(content)
    assert _output(ReadOnlyCommand(argv=["/bin/cat"], directory=None)) == (0, b"")


@pytest.mark.skipif(landlock.version() == 0, reason="the kernel has no Landlock; run on Linux 5.13 or newer")
def test_it_can_read_nothing_but_what_is_named(tmp_path: Path) -> None:
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    directory = os.open(tmp_path / "open", os.O_RDONLY)
    try:
        words = ["/bin/cat", "file", "../closed/file"]
        code, out = _output(ReadOnlyCommand(argv=words, directory=directory, readable=(directory,)))
    finally:
        os.close(directory)

    assert (code, out) == (1, b"open")


def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="No such file"):
            start(ReadOnlyCommand(argv=["/nonexistent"], directory=directory, readable=(directory,)))
    finally:
        os.close(directory)
