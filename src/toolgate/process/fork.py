"""Forks this process to run one function."""

import os
import signal
import warnings
from collections.abc import Callable
from typing import IO


class Fork:
    """Runs `work` in a fork, in `directory`. What it writes to its descriptor can be read from `stdout`."""

    def __init__(self, directory: int | None, work: Callable[[int], None]) -> None:
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the fork uses nothing that other threads hold
            self.pid = os.fork()
        if self.pid == 0:
            _run(directory, work, writing)
        os.close(writing)
        silent, unused = os.pipe()
        os.close(unused)
        self.stdout: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self.stderr: IO[bytes] = os.fdopen(silent, "rb", buffering=0)
        self._ended: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Wait for the end and return the exit code."""
        ended = self._reap(0)
        assert ended is not None
        return ended

    def kill(self) -> None:
        """Kill the process."""
        if self._ended is None:
            os.kill(self.pid, signal.SIGKILL)

    def _reap(self, options: int) -> int | None:
        if self._ended is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._ended = os.waitstatus_to_exitcode(status)
        return self._ended


def _run(directory: int | None, work: Callable[[int], None], out: int) -> None:
    """Body of the fork. It never returns."""
    code = 1
    try:
        if directory is not None:
            os.fchdir(directory)
        work(out)
        code = 0
    finally:
        os._exit(code)
