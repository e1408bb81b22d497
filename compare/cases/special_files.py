"""FIFOs, sockets and devices: a call must come back."""

from __future__ import annotations

import contextlib
import os
import socket

from compare.arena import Arena, Ended, Hung
from compare.case import Case, Outcome

ORDER = 5
_PATIENCE = 10.0
_MEMORY = 4 * 2**30


def _make(arena: Arena) -> dict[str, str]:
    """Name → path of something in the project that is no ordinary file."""
    os.mkfifo(arena.root / "fifo")
    (arena.root / "link-to-fifo").symlink_to("fifo")
    (arena.root / "link-to-zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        directory = os.open(arena.root, os.O_PATH)
        bound.bind(f"/proc/self/fd/{directory}/socket")  # a socket's own path may be too long
        os.close(directory)
    found = {"FIFO": "fifo", "link to a FIFO": "link-to-fifo", "link to /dev/zero": "link-to-zero", "socket": "socket"}
    with contextlib.suppress(PermissionError):  # only root may make a device
        os.mknod(arena.root / "zero", 0o666 | 0o020000, os.makedev(1, 5))
        found["device"] = "zero"
    return found


def count(arena: Arena) -> Outcome:
    """Read, write and edit each of them in a fresh process with a limit of memory."""
    stuck, tried = [], 0
    for name, path in _make(arena).items():
        for way, arguments in (("read", {}), ("write", {"text": "x\n"}), ("edit", {"old": "a", "new": "b"})):
            limit = {"COMPARE_MEMORY": str(_MEMORY)} if arena.contender.limits_memory else {}
            with arena.tools(environment=limit) as tools:
                if way not in tools.abilities:
                    continue
                tried += 1
                try:
                    tools.ask(way, wait=2.0 if arena.quick else _PATIENCE, path=path, **arguments)
                except (Hung, Ended) as error:
                    stuck.append(f"{way} {name}: {'hung' if isinstance(error, Hung) else 'died'}")
        if arena.quick:
            break
    return Outcome(bad=len(stuck), of=tried, detail=tuple(stuck))


SPECIAL_FILES = Case(
    name="special-files",
    title="FIFO, socket and device: hangs",
    counts="A FIFO that nobody writes to, a link to it, a link to `/dev/zero`, a socket and (as root) a device lie in "
    "the project. Each is read, written and edited in a fresh process. Counted are the calls without an answer after "
    f"{_PATIENCE:.0f} seconds, and those that ended the process.",
    run=count,
    any_of=("read", "write", "edit"),
)
