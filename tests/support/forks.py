"""Child processes that tests kill, stop and wait for; they report by a pipe."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

Say = Callable[[str], None]


class Child:
    """A forked process and what it has said."""

    def __init__(self, script: Callable[[Say], Awaitable[None]]) -> None:
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads; the child starts its own
            self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run(script, writing)
        os.close(writing)
        self._pipe = os.fdopen(reading, "r")

    def line(self) -> str:
        """The next thing that it says; empty when it has ended."""
        return self._pipe.readline().rstrip("\n")

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def end(self) -> tuple[int, list[str]]:
        """Wait for it: how it ended (the signal is negative), and what was left to read."""
        lines = self._pipe.read().splitlines()
        self._pipe.close()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), lines

    def kill(self) -> list[str]:
        """Kill it, and return what it had said."""
        self.signal(signal.SIGKILL)
        return self.end()[1]


@contextlib.contextmanager
def adopting() -> Iterator[Callable[[], None]]:
    """Become the parent of what killed children leave; the function that is handed out ends those.

    A sandbox that is being set up when its starter is killed may wait for it for ever (bubblewrap's own hand-shake).
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    before = _children()
    prctl(_SUBREAPER, 1, 0, 0, 0)

    def end() -> None:
        for pid in _children() - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    try:
        yield end
    finally:
        end()
        prctl(_SUBREAPER, 0, 0, 0, 0)


_SUBREAPER = 36


def _children() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid = int(entry.name)
            if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(pid)
    return found


def _run(script: Callable[[Say], Awaitable[None]], writing: int) -> None:
    code = 1
    try:
        asyncio.set_event_loop(None)
        # the parent's loop is not running here, but this thread believes that it is
        asyncio.events._set_running_loop(None)
        asyncio.run(script(lambda text: [None, os.write(writing, f"{text}\n".encode())][0]))  # type: ignore[arg-type]
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it is shown, and the copy of pytest ends here
        sys.__stderr__.write(traceback.format_exc()) if sys.__stderr__ else None
    finally:
        os._exit(code)
