"""Symlink race: a directory of the project is swapped with a link that leads out of it while a tool works."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from compare.arena import CHECKOUT, Arena
from compare.case import Case, Outcome

ORDER = 2


def count(arena: Arena) -> Outcome:
    """Read and write in turns through a directory that is exchanged with a link all the time."""
    tries = 400 if arena.quick else 20_000
    inside, link = arena.root / "door", arena.root / "link"
    inside.mkdir()
    link.symlink_to(arena.outside)
    (inside / "secret.txt").write_text("public\n")
    limit = min(arena.seconds, 20.0) if arena.quick else arena.seconds
    swapper = subprocess.Popen(
        [sys.executable, "-m", "compare.swapper", str(inside), str(link), str(limit + 60)], cwd=CHECKOUT
    )
    reads = writes = done = worked = 0
    try:
        with arena.tools() as tools:
            deadline = time.monotonic() + limit
            while done < tries and time.monotonic() < deadline:
                if "read" not in tools.abilities or (done % 2 and "write" in tools.abilities):
                    answer = tools.ask("write", path=f"door/new{done}.txt", text="x\n")
                    writes += _removed(arena.outside / f"new{done}.txt")
                else:
                    answer = tools.ask("read", path="door/secret.txt")
                    reads += arena.secret in answer["text"]
                worked += not answer["failed"]
                done += 1
    finally:
        swapper.kill()
        swapper.wait()
    if not worked:
        raise RuntimeError(f"no call did its work: {answer['text'][-300:]}")
    detail = (f"{reads} by reading", f"{writes} by writing", f"{worked} calls did their work")
    return Outcome(bad=reads + writes, of=done, detail=detail)


def _removed(victim: Path) -> bool:
    """Whether the file was there."""
    try:
        victim.unlink()
    except FileNotFoundError:
        return False
    return True


SYMLINK_RACE = Case(
    name="symlink-race",
    title="Symlink race: escapes from the project",
    counts="The tool reads and writes a file in a directory of the project. Another process exchanges this directory "
    "with a link to a directory outside, as fast as it can. A person who is asked agrees, because the path lies in the "
    "project. Counted are the calls that read or wrote the file outside. A run ends after a time limit.",
    run=count,
    any_of=("read", "write"),
)
