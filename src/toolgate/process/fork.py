"""A copy of this process that does one thing and ends."""

import os
import signal
import warnings
from collections.abc import Callable
from typing import IO


class Fork:
    """Runs `work` in a copy of this process, in `directory`; what it writes to its descriptor is `stdout`."""

    def __init__(self, directory: int | None, work: Callable[[int], None]) -> None:
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # beside threads: the copy uses nothing of theirs
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
        """How it ended, or None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Wait until it has ended; how it did."""
        ended = self._reap(0)
        assert ended is not None
        return ended

    def kill(self) -> None:
        """End it."""
        if self._ended is None:
            os.kill(self.pid, signal.SIGKILL)

    def _reap(self, options: int) -> int | None:
        if self._ended is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._ended = os.waitstatus_to_exitcode(status)
        return self._ended


def _run(directory: int | None, work: Callable[[int], None], out: int) -> None:
    """In the copy: never returns, whatever happens."""
    code = 1
    try:
        if directory is not None:
            os.fchdir(directory)
        work(out)
        code = 0
    finally:
        os._exit(code)
