"""A copy of this process."""

import os
import time
from pathlib import Path

from toolgate.process.fork import Fork
from toolgate.process.streaming import Bounds, follow
from toolgate.search.matches import Matches, MatchStream
from toolgate.workspace.threads import Stop


def found_by(fork: Fork, seconds: float = 10) -> tuple[Matches, bool]:
    found = Matches(limit=10)
    ending = follow([fork], [MatchStream(found)], Bounds(deadline=time.monotonic() + seconds, stop=Stop()))
    return found, ending.complete


def _say(out: int) -> None:
    os.write(out, f"{Path.cwd().name}\0".encode() + b"1\0Mx\n")


def test_it_works_in_its_directory_and_ends(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    fork = Fork(directory, _say)
    os.close(directory)

    found, complete = found_by(fork)

    assert ([match["file"] for match in found.first(0, 0, "")[0]], complete, fork.wait()) == ([tmp_path.name], True, 0)


def test_it_can_be_ended() -> None:
    fork = Fork(None, lambda _: time.sleep(60))

    _, complete = found_by(fork, 0.2)

    assert (complete, fork.poll()) == (False, -9)


def test_a_failure_stays_in_it() -> None:
    fork = Fork(None, lambda _: os.close(-1))

    found_by(fork)

    assert fork.wait() == 1
