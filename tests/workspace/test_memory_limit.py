"""Memory at its limit: a call that cannot get any answers in the envelope, and the process goes on."""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.arena import Arena, arena_for
from tests.support.privileges import UIDS, run_apart
from tests.workspace.test_temporary import Session
from toolgate.log import logger
from toolgate.workspace.undo import undo

SMALL = "x marks the spot\n"
LARGE = ("x" * 99 + "\n") * 100_000 + "needle\n"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "large.txt"}),
    ("grep", {"pattern": "zzz|needle", "path": "large.txt"}),
    ("glob", {"pattern": "**/*"}),
    ("ls", {}),
    ("edit_file", {"path": "large.txt", "old_string": "needle", "new_string": "pin"}),
    ("write_file", {"path": "new.txt", "content": "y" * 900_000}),
    ("Bash", {"command": "cat large.txt large.txt", "access": "read"}),
]
REASONS = ("not enough memory", "no room for another thread", "failed unexpectedly")
"""The last one: compiled extensions panic where they get no memory."""
REPOSITORY = Path(__file__).parents[2]
ENDS = {"success", "partial", "EXECUTION_ERROR", "INTERNAL_ERROR"}


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        (made.root / "small.txt").write_text(SMALL)
        (made.root / "large.txt").write_text(LARGE)
        made.own()
        yield made


def limit_memory(more: int | None) -> None:
    """Let this process have so many bytes more than it has; None: as many as it likes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = resource.RLIM_INFINITY if more is None else pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


async def _session(root: Path, more: int) -> tuple[dict[str, str], list[str], list[str]]:
    used = Session(root)
    read = ("read_file", {"path": "small.txt"})
    await used.call(*read)
    await used.call("Bash", {"command": "true", "access": "read"})
    calls = [toolgate.ToolCall(id=name, name=name, arguments=json.dumps(arguments)) for name, arguments in CALLS]
    logger("test").debug("imported")  # the first message imports a package
    limit_memory(more)
    ends, starved = {}, []
    for call in calls:
        result = await used.toolset.handle(call)
        error = result.response.error
        ends[call.name] = result.response.status.value if error is None else error.code.value
        if error is not None:
            starved.append(result.response.text)
        del result
    limit_memory(None)
    worked = [(await used.call(*one))[0] for one in (read, ("Bash", {"command": "cat small.txt", "access": "read"}))]
    await used.close()
    return ends, starved, worked


def _in_a_fresh_process(arena: Arena, more: int) -> Any:
    """Run a session in an interpreter of its own: this one has memory to spare from other tests."""
    code = f"from tests.workspace.test_memory_limit import main; main({str(arena.root)!r}, {arena.uid}, {more})"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, timeout=150)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def main(root: str, uid: int, more: int) -> None:
    """Body of that process."""
    answer = run_apart(uid, lambda: asyncio.run(_session(Path(root), more)))
    print(json.dumps(answer))  # noqa: T201 - the answer to the test


@pytest.mark.slow
@pytest.mark.parametrize("more", [1_000_000, 24_000_000])
def test_calls_without_memory_say_so_and_the_next_ones_work(arena: Arena, more: int) -> None:
    ends, starved, worked = _in_a_fresh_process(arena, more)

    assert set(ends) == {name for name, _ in CALLS}
    assert set(ends.values()) <= ENDS, ends
    assert all(any(reason in text for reason in REASONS) for text in starved), starved
    assert starved or more == 24_000_000
    assert worked == ["success", "success"]
    _check_files(arena.root, ends)


def _check_files(root: Path, ends: dict[str, str]) -> None:
    """Every file is whole, as its call says; and what has succeeded can be taken back."""
    edited = ends["edit_file"] == "success"
    assert (root / "large.txt").read_text() == (LARGE.replace("needle", "pin") if edited else LARGE)
    assert (root / "small.txt").read_text() == SMALL
    written = ends["write_file"] == "success"
    assert (root / "new.txt").exists() == written
    assert not list(root.glob("**/.toolgate-*"))
    workspace = toolgate.Workspace(root)
    for _ in range(edited + written):
        undo(workspace)
    workspace.close()
    assert (root / "large.txt").read_text() == LARGE
    assert not (root / "new.txt").exists()
