"""A process left behind after a time-out."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from compare.arena import Arena, Hung
from compare.case import Case, Outcome

ORDER = 6
_LIMIT = 2.0
_GRACE = 5.0
WAYS = {
    "foreground": "sleep {}",
    "background": "sleep {} & wait",
    "output closed": "sleep {} >/dev/null 2>&1 </dev/null & sleep 600",
    "ignores SIGTERM": "sh -c 'trap \"\" TERM HUP INT; while :; do sleep {}; done'",
    "nohup": "nohup sleep {} >/dev/null 2>&1 & sleep 600",
    "new session": "setsid sleep {} & sleep 600",
    "double fork": "(setsid sh -c 'sleep {} & exec sleep {}' >/dev/null 2>&1 &) ; sleep 600",
}
"""Name → a command that runs longer than its limit; the time of its sleep tells its processes from all others."""


def _sleeping(seconds: str) -> list[int]:
    """The processes that sleep for exactly so long."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cmdline").read_bytes().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                    found.append(int(entry.name))
    return found


def count(arena: Arena) -> Outcome:
    """Run each command into its time limit, then look for its processes until a grace period is over."""
    left = []
    ways = {"new session": WAYS["new session"]} if arena.quick else WAYS
    patience = 2.0 if arena.quick else 30.0
    for number, (name, command) in enumerate(ways.items()):
        seconds = f"{int(arena.run[:6], 16) + 10_000}.{number + 1}"
        with arena.tools() as tools:
            with contextlib.suppress(Hung):
                line = f"touch started{number}; " + command.replace("{}", seconds)
                tools.ask("run", wait=_LIMIT + patience, command=line, seconds=_LIMIT)
            deadline = time.monotonic() + min(_GRACE, patience)
            while (still := _sleeping(seconds)) and time.monotonic() < deadline:
                time.sleep(0.05)
            if not (arena.root / f"started{number}").exists():
                raise RuntimeError(f"the command did not run: {name}")
            for pid in still:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if still:
            left.append(name)
    return Outcome(bad=len(left), of=len(ways), detail=tuple(left))


LEFTOVER_PROCESSES = Case(
    name="leftover-processes",
    title="Time-out: processes left behind",
    counts=f"Seven commands run into a limit of {_LIMIT:.0f} seconds: in the foreground, in the background, with "
    "closed output, ignoring SIGTERM, under nohup, in a new session, and forked twice. Counted are the commands of "
    f"which a process still runs {_GRACE:.0f} seconds after the answer.",
    run=count,
    needs=("run", "limit"),
)
