"""1 GB of output: how much memory does the tool layer take?"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from compare.arena import Arena, Ended, Hung
from compare.case import Case, Outcome

ORDER = 7
_MEMORY = 6 * 2**30
"""Bytes of address space at which the contender gets a MemoryError, so that the machine survives."""


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    return 0


def _peak(pid: int) -> int:
    """The most that one process ever took; the kernel remembers it as long as the process lives."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return 0


class _Watch:
    """The most memory that all processes of a contender took together."""

    def __init__(self, arena: Arena) -> None:
        self._arena, self.peak, self._stop = arena, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            self.peak = max(self.peak, sum(_resident(pid) for pid in self._arena.processes()))

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, *map(_peak, self._arena.processes()), 0)  # on a busy machine no look may be in time


def count(arena: Arena) -> Outcome:
    """Print the bytes as lines of 100 characters."""
    size = 50_000_000 if arena.quick else 1_000_000_000
    line = "x" * 99
    command = f"yes {line} | head -c {size}; echo end > printed.txt"
    detail = []
    with arena.tools(environment={"COMPARE_MEMORY": str(_MEMORY)}) as tools:
        tools.ask("run", command="true", seconds=30.0)
        before = sum(_resident(pid) for pid in arena.processes())
        begin = time.monotonic()
        with _Watch(arena) as watch:
            try:
                answer = tools.ask("run", wait=arena.seconds * 2, command=command, seconds=arena.seconds * 2 - 5)
                if answer["failed"]:
                    detail.append("the tool reports a failure")
            except Hung:
                detail.append(f"no answer within {arena.seconds * 2:.0f} s")
            except Ended:
                detail.append("the process died")
        detail.append(f"{time.monotonic() - begin:.0f} s")
        unfinished = not (arena.root / "printed.txt").exists()
    grown = round(max(watch.peak - before, 0) / 1e6, 1)
    return Outcome(bad=grown, unfinished=unfinished, detail=tuple(detail))


LARGE_OUTPUT = Case(
    name="large-output",
    title="1 GB of output: memory taken",
    counts="A command prints 1 GB in lines of 100 characters. Counted is by how much the memory of all processes of "
    "the contender grows at most. Each process may take 6 GiB.",
    run=count,
    needs=("run",),
    unit="MB",
    control_least=100,
)
