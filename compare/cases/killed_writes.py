"""Killed while writing: does a reader ever find half a file?"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from typing import Any

from compare.arena import Arena
from compare.case import Case, Outcome

ORDER = 1
_LINES = 20_000
_MAX_DELAY = 0.08
"""Seconds after which a writer is killed, at the latest; it writes all the time."""


def _text(letter: str) -> str:
    return letter * 49 + "\n" + ("x" * 49 + "\n") * _LINES


def count(arena: Arena) -> Outcome:
    """Kill the process at random moments while it replaces one text of 1 MB by another, and look at the file."""
    kills = 12 if arena.quick else 200
    allowed = {_text("a"), _text("b")}
    path = arena.root / "file.txt"
    torn, kinds, done = 0, {"empty": 0, "cut": 0, "gone": 0}, 0
    deadline = time.monotonic() + arena.seconds * 5
    chance = random.Random(1)
    with arena.tools(opened=False) as tools:
        while done < kills and time.monotonic() < deadline:
            path.write_text(_text("b"))
            request: dict[str, Any] = {"root": str(arena.root), "path": "file.txt", "texts": [_text("a"), _text("b")]}
            pid = tools.ask("writer", **request)["pid"]
            time.sleep(chance.uniform(0, _MAX_DELAY))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            tools.ask("reap", pid=pid)
            done += 1
            found = path.read_text() if path.exists() else None
            if found not in allowed:
                torn += 1
                kinds["gone" if found is None else "cut" if found else "empty"] += 1
    left = [name for name in os.listdir(arena.root) if name not in ("file.txt", ".toolgate", "tool-output")]
    detail = [f"{number} {kind}" for kind, number in kinds.items() if number]
    return Outcome(bad=torn, of=done, detail=(*detail, *([f"{len(left)} temporary files left"] if left else [])))


KILLED_WRITES = Case(
    name="killed-writes",
    title="Killed while writing: torn files",
    counts="A process that replaces a file of 1 MB again and again (or its first line, if the tool does not "
    "overwrite files) is killed with SIGKILL at a random moment. Counted are the "
    "kills after which the file is neither the old nor the new text. A run ends after a time limit.",
    run=count,
    needs=("write",),
)
