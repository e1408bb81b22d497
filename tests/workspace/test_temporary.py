"""Faults below the file tools: what fails says so, changes nothing, and the next call works."""

import asyncio
import errno
import json
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.arena import Arena, arena_for
from tests.support.disks import PAGE, fill, small_disk
from tests.support.privileges import UIDS, run_apart
from toolgate.testing import AutoApprover
from toolgate.workspace.edit import _IN_MEMORY

CONTENT = "x marks the spot\n"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ls", {}),
    ("glob", {"pattern": "**/*"}),
    ("grep", {"pattern": "spot"}),
    ("read_file", {"path": "f.txt"}),
    ("write_file", {"path": "f.txt", "content": "new\n"}),
    ("edit_file", {"path": "f.txt", "old_string": "spot", "new_string": "place"}),
    ("Bash", {"command": "cat f.txt", "access": "read"}),
]


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        (made.root / "f.txt").write_text(CONTENT)
        (made.root / "n.ipynb").write_text('{"cells": []}')
        os.chmod(made.root / "n.ipynb", 0o666)
        made.own()
        yield made


class Session:
    """Calls of one session."""

    def __init__(self, root: Path) -> None:
        self.workspace = toolgate.Workspace(root)
        self.context = toolgate.ToolContext(
            workspace=self.workspace, mode=toolgate.ToolMode.coding, approver=AutoApprover(), session_id="s"
        )
        self.toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, self.context)

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, str]:
        """Status or code, and what the model reads."""
        result = await self.toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
        error = result.response.error
        return (result.response.status.value if error is None else error.code.value), result.output

    async def close(self) -> None:
        await self.context.aclose()
        self.workspace.close()


def out_of_descriptors(left: int = 0) -> Callable[[], None]:
    """Take every descriptor but a few; what is returned gives them back."""
    limit = 200 + len(os.listdir("/proc/self/fd"))  # a test process may have many from other tests
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    taken = []
    while True:
        try:
            taken.append(os.dup(2))
        except OSError:
            break
    for _ in range(left):
        os.close(taken.pop())

    def give_back() -> None:
        for fd in taken:
            os.close(fd)

    return give_back


EVERY_CALL: list[tuple[str, dict[str, Any]]] = [
    *CALLS,
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: f.txt\n-x marks the spot\n+place\n*** End Patch"}),
    ("edit_notebook", {"path": "n.ipynb", "cell": 0, "action": "insert", "source": "x"}),
    ("current_time", {}),
    ("memory_search", {"query": "x"}),
    ("memory_append", {"content": "x"}),
    ("todo", {"items": []}),
    ("task", {"agent": "explore", "prompt": "x"}),
]
WITHOUT_A_STORE = {"memory_search", "memory_append", "task"}


def test_every_built_in_tool_is_among_the_calls() -> None:
    named = {name for name, _ in EVERY_CALL}
    assert named | {"Terminal"} == set(
        toolgate.builtin_registry().names()
    )  # which types into a job that Bash has begun


@pytest.mark.parametrize("call", EVERY_CALL, ids=lambda call: call[0])
def test_a_session_that_begins_without_descriptors_says_so_and_works_afterwards(
    arena: Arena, call: tuple[str, dict[str, Any]]
) -> None:
    async def session() -> tuple[tuple[str, str], int, tuple[str, str]]:
        used = Session(arena.root)
        give_back = out_of_descriptors()
        failed = await used.call(*call)
        size = os.stat(arena.root / "f.txt").st_size
        give_back()
        worked = await used.call(*call)
        await used.close()
        return failed, size, worked

    failed, size, worked = run_apart(arena.uid, lambda: asyncio.run(session()))

    if call[0] in WITHOUT_A_STORE:
        assert (failed[0], worked[0]) == ("TOOL_NOT_FOUND", "TOOL_NOT_FOUND")
        return
    assert failed[0] == "EXECUTION_ERROR"
    assert "this process has too many open files" in failed[1]
    assert "raise the limit on open files" in failed[1]
    assert size == len(CONTENT)
    assert "open files" not in worked[1]
    assert worked[0] == "success", worked


@pytest.mark.parametrize("left", range(1, 11, 3))
def test_a_shortage_at_the_first_command_does_not_decide_which_layer_confines_the_next(arena: Arena, left: int) -> None:
    """What works on a machine is found out once per process; a failure for want of descriptors is no finding."""

    async def session(left: int) -> tuple[str, str, str]:
        used = Session(arena.root)
        give_back = out_of_descriptors(left)
        status, failed = await used.call(*CALLS[6])
        give_back()
        shell = await used.toolset.handle(toolgate.ToolCall(id="2", name="Bash", arguments=json.dumps(CALLS[6][1])))
        await used.close()
        return status, failed, str(shell.response.data.get("sandbox"))

    usual = run_apart(arena.uid, lambda: asyncio.run(session(150)))
    status, failed, layer = run_apart(arena.uid, lambda: asyncio.run(session(left)))

    assert (usual[0], status) == ("success", "EXECUTION_ERROR")
    assert "this process has too many open files" in failed
    assert layer == usual[2]


def test_without_descriptors_every_tool_says_so_and_changes_nothing(arena: Arena) -> None:
    async def session() -> tuple[list[tuple[str, str]], list[tuple[str, str]], int]:
        used = Session(arena.root)
        for name, arguments in CALLS[:4]:
            await used.call(name, arguments)
        give_back = out_of_descriptors()
        failed = [await used.call(name, arguments) for name, arguments in CALLS]
        content = (os.stat(arena.root / "f.txt")).st_size
        give_back()
        worked = [await used.call(name, arguments) for name, arguments in (*CALLS[:4], CALLS[6], CALLS[5])]
        await used.close()
        return failed, worked, content

    failed, worked, size = run_apart(arena.uid, lambda: asyncio.run(session()))

    assert [(name, status) for (name, _), (status, _) in zip(CALLS, failed, strict=True)] == [
        (name, "EXECUTION_ERROR") for name, _ in CALLS
    ], failed
    assert size == len(CONTENT)
    assert [status for status, _ in worked] == ["success"] * 6, worked
    assert (arena.root / "f.txt").read_text() == CONTENT.replace("spot", "place")


@pytest.mark.parametrize("call", ["pread", "preadv", "scandir", "fstat"])
def test_a_disk_that_answers_with_an_error_is_not_called_damaged(arena: Arena, call: str) -> None:
    if call == "preadv":  # reads files that are too large to be loaded
        with (arena.root / "f.txt").open("a") as file:
            file.write("line\n" * (_IN_MEMORY // 5))

    async def session() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        used = Session(arena.root)
        await used.call("read_file", {"path": "f.txt"})

        def broken(*_: object, **__: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, call, broken)
            failed = [
                await used.call(name, arguments) for name, arguments in (*CALLS[:2], CALLS[3], CALLS[5], CALLS[4])
            ]
        worked = [await used.call(name, arguments) for name, arguments in CALLS[:4]]
        await used.close()
        return failed, worked

    failed, worked = run_apart(arena.uid, lambda: asyncio.run(session()))

    assert {status for status, _ in failed} <= {"EXECUTION_ERROR", "success", "partial"}, failed
    assert "EXECUTION_ERROR" in {status for status, _ in failed}
    assert not [output for _, output in failed if "damaged" in output or "binary" in output]
    assert [status for status, _ in worked] == ["success"] * 4, worked


def test_without_room_for_temporary_files_a_long_output_keeps_its_ends(arena: Arena) -> None:
    place = arena.base / "tmp"
    place.mkdir()
    with small_disk(place, 64 * PAGE, arena.uid):

        async def session() -> tuple[tuple[str, str], tuple[str, str]]:
            tempfile.tempdir = str(place)
            used = Session(arena.root)
            await used.call(*CALLS[6])
            fill(place, 4 * PAGE)
            long = await used.call("Bash", {"command": "seq 300000", "access": "read"})
            after = await used.call(*CALLS[6])
            await used.close()
            return long, after

        (status, output), after = run_apart(arena.uid, lambda: asyncio.run(session()))

        assert status == "partial", output
        assert "300000" in output
        assert "the first 16,384 bytes are in" in output
        assert after[0] == "success"
        assert os.listdir(place) == ["filler"]
