"""Input without an end and without a line: it is not kept, and SIGTERM ends the program."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ZEROS = ("/dev/zero", "/dev/full")


def _start(tmp_path: Path, source: str, *words: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "TOOLGATE_DATABASE_URL": f"sqlite:///{tmp_path}/a.db", "TOOLGATE_MODEL": "offline"}
    with open(source, "rb") as stdin:
        return subprocess.Popen(
            [sys.executable, "-m", "toolgate", *words],
            cwd=tmp_path,
            env=environ,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


@pytest.mark.parametrize("source", ZEROS)
@pytest.mark.parametrize("verb", ["chat", "sh"])
def test_a_line_without_an_end_is_refused(tmp_path: Path, verb: str, source: str) -> None:
    process = _start(tmp_path, source, verb)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 2
    assert b"a line of stdin is longer than 4,194,304 characters" in said


@pytest.mark.parametrize("words", [("call", "grep", "-"), ("chat", "--print", "-")], ids=" ".join)
def test_all_of_stdin_is_read_only_up_to_a_limit(tmp_path: Path, words: tuple[str, ...]) -> None:
    process = _start(tmp_path, "/dev/zero", *words)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 2
    assert b"stdin is longer than 4,194,304 bytes" in said


def test_sigterm_ends_an_mcp_server_that_is_sent_no_line(tmp_path: Path) -> None:
    process = _start(tmp_path, "/dev/zero", "mcp")
    while _bytes_read(process.pid) < 200_000_000:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert process.returncode is not None


def _bytes_read(pid: int) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])
