"""A change of mounts is noticed, whoever made it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from toolgate.sandbox.mount_watch import MountWatch

SCRIPT = (
    'mount -t tmpfs none "$1"; touch "$1/covered"; mount --bind /dev/null "$1/covered"; echo; read x; eval "$x"; echo'
)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A shell with mounts of its own, one of them over a file, that runs one line when it is told to."""
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh", str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert _stream(started.stdout).readline() == "\n"
        yield started
        _stream(started.stdin).close()


@pytest.mark.parametrize("line", ['umount "$1/covered"', 'mount -t tmpfs none "$1"'], ids=["less", "more"])
def test_a_change_is_counted_once(process: subprocess.Popen[str], line: str) -> None:
    watch = MountWatch(process.pid)
    before = watch.changes(), watch.changes()
    _stream(process.stdin).write(f"{line}\n")
    _stream(process.stdin).flush()
    assert _stream(process.stdout).readline() == "\n"

    assert before == (0, 0)
    assert (watch.changes(), watch.changes()) == (1, 1)
    watch.close()


def test_other_changes_are_not_counted(process: subprocess.Popen[str], tmp_path: Path) -> None:
    watch = MountWatch(process.pid)
    Path(f"/proc/{process.pid}/root{tmp_path}/other").write_text("")

    assert watch.changes() == 0
    watch.close()


def test_a_process_that_has_ended_is_an_error() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()

        with pytest.raises(OSError, match="No such"):
            MountWatch(ended.pid)


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
