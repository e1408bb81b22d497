"""F08: a runtime that is killed at any moment leaves the old file or the new one, and a journal that can be used."""

import asyncio
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.arena import Arena, arena_for
from tests.support.privileges import UIDS, run_as
from toolgate.testing import AutoApprover
from toolgate.workspace.journal import OpenJournal
from toolgate.workspace.temporary import TEMPORARY

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
KILLS = 10 * TORTURE

pytestmark = [pytest.mark.torture, pytest.mark.timeout(60 + 10 * TORTURE)]

CONTENTS = {letter: (letter * 99 + "\n") * 10_000 for letter in "ab"}


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


async def _calls(root: Path, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    context = toolgate.ToolContext(
        workspace=toolgate.Workspace(root), mode=toolgate.ToolMode.coding, approver=AutoApprover(), session_id="s"
    )
    toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
    statuses = []
    for number, (name, arguments) in enumerate(calls):
        call = toolgate.ToolCall(id=str(number), name=name, arguments=json.dumps(arguments))
        statuses.append((await toolset.handle(call)).response.status.value)
    return statuses


def _write_for_ever(root: Path, started: int) -> None:
    """Replace the whole file by writing, then by editing, back and forth; say so when the first write is done."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for letter, other in ("ab", "ba"):
        edit = {"old_string": letter * 99, "new_string": other * 99, "replace_all": True}
        calls += [
            ("write_file", {"path": "f.txt", "content": CONTENTS[letter]}),
            ("edit_file", {"path": "f.txt", **edit}),
            ("write_file", {"path": f"new-{letter}/g.txt", "content": CONTENTS[other]}),
        ]
    asyncio.run(_calls(root, calls[:1]))
    os.write(started, b"!")
    while True:
        asyncio.run(_calls(root, calls))


def _killed_writer(uid: int, root: Path, seconds: float) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run_as_here(uid)
            _write_for_ever(root, writing)
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"!", "the writer ended before it wrote"
    os.close(reading)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"


def _killed_before_its_record(uid: int, root: Path) -> None:
    """A writer that dies when the earlier content is kept and the write is not recorded yet."""
    child = os.fork()
    if child == 0:
        try:
            run_as_here(uid)
            OpenJournal._append = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
            asyncio.run(_calls(root, [("write_file", {"path": "f.txt", "content": "never written\n"})]))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"
    images = list((root / ".toolgate/journal/images").iterdir())
    assert [image.stat().st_ino for image in images] == [(root / "f.txt").stat().st_ino]


def run_as_here(uid: int) -> None:
    if os.geteuid() == 0 and uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def test_f08_a_killed_writer_leaves_the_old_or_the_new_file(arena: Arena) -> None:
    target = arena.root / "f.txt"
    target.write_text(CONTENTS["b"])
    arena.own()
    run_as(arena.uid, lambda: asyncio.run(_calls(arena.root, [("read_file", {"path": "f.txt"})])))
    whole = set(CONTENTS.values())
    chance = random.Random(8)
    for _ in range(KILLS):
        _killed_writer(arena.uid, arena.root, chance.uniform(0.0, 0.3))
        assert target.read_text() in whole, "a mixture"
        for created in arena.root.glob("new-*/g.txt"):
            assert created.read_text() in whole, "a mixture"
        listed, found = arena.calls([("ls", {"path": ".", "include_hidden": True}), ("glob", {"pattern": "**/*"})])
        assert TEMPORARY not in json.dumps([listed.data, found.data])
    written = arena.call("write_file", path="f.txt", content="after\n")

    assert (written.status, written.code) == ("success", None), written.text
    assert target.read_text() == "after\n"
    assert not [name for name in os.listdir(arena.root) if name.startswith(TEMPORARY)]


@pytest.mark.parametrize("size", [100, 1 << 20, 3 << 20], ids=["small", "1 MiB", "3 MiB"])
@pytest.mark.parametrize("how", ["write", "edit", "read, then edit", "read, pruned by another, then edit"])
def test_f08_a_writer_killed_before_its_record_makes_no_conflict(arena: Arena, how: str, size: int) -> None:
    target = arena.root / "f.txt"
    target.write_text("begin\n" + "x" * 99 * (size // 100) + "\nend\n")
    arena.own()
    run_as(arena.uid, lambda: asyncio.run(_calls(arena.root, [("read_file", {"path": "f.txt"})])))  # imports all
    _killed_before_its_record(arena.uid, arena.root)
    write: tuple[str, dict[str, Any]] = ("write_file", {"path": "f.txt", "content": "end"})
    edit: tuple[str, dict[str, Any]] = ("edit_file", {"path": "f.txt", "old_string": "begin", "new_string": "start"})
    read: tuple[str, dict[str, Any]] = ("read_file", {"path": "f.txt"})
    other: tuple[str, dict[str, Any]] = ("write_file", {"path": "g.txt", "content": "prunes\n"})
    calls = {
        "write": [write],
        "edit": [edit],
        "read, then edit": [read, edit],
        "read, pruned by another, then edit": [read, other, edit],
    }[how]

    assert run_as(arena.uid, lambda: asyncio.run(_calls(arena.root, calls)))[-1] == "success"


def test_f08_after_kills_everything_can_be_taken_back(arena: Arena) -> None:
    target = arena.root / "f.txt"
    target.write_text("original\n")
    arena.own()
    run_as(arena.uid, lambda: asyncio.run(_calls(arena.root, [("read_file", {"path": "f.txt"})])))
    chance = random.Random(9)
    for _ in range(max(3, KILLS // 5)):
        _killed_writer(arena.uid, arena.root, chance.uniform(0.0, 0.3))

    def take_back() -> list[str]:
        workspace = toolgate.Workspace(arena.root)
        return sorted({undone.path for undone in workspace.journal.undo("session")})

    paths = run_as(arena.uid, take_back)
    assert "f.txt" in paths
    assert target.read_text() == "original\n"
    assert sorted(path.name for path in arena.root.iterdir()) == [".toolgate", "control.txt", "f.txt"]
