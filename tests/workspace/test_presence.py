"""A project root that is deleted, moved, replaced or unmounted: gone for every tool, and picked up when it is back."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.arena import Arena, arena_for
from tests.support.disks import mount, unmount
from tests.support.privileges import NOBODY, UIDS, run_as
from toolgate.testing import AutoApprover
from toolgate.workspace.confine import Confinement

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ls", {}),
    ("glob", {"pattern": "**/*"}),
    ("grep", {"pattern": "x"}),
    ("read_file", {"path": "f.txt"}),
    ("write_file", {"path": "g.txt", "content": "x\n"}),
    ("edit_file", {"path": "f.txt", "old_string": "x", "new_string": "xx", "replace_all": True}),
    ("Bash", {"command": "cat f.txt", "access": "read"}),
    ("Bash", {"command": "read f.txt"}),
]


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        (made.root / "f.txt").write_text("x\n")
        made.own()
        yield made


class Session:
    """A session that was used before something happens to its root."""

    def __init__(self, root: Path, confinement: Confinement = "auto") -> None:
        self.workspace = toolgate.Workspace(root, confinement=confinement)
        self.context = toolgate.ToolContext(
            workspace=self.workspace, mode=toolgate.ToolMode.coding, approver=AutoApprover(), session_id="s"
        )
        self.toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, self.context)

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, str]:
        """Status or code, and what the model reads."""
        call = toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments))
        result = await self.toolset.handle(call)
        error = result.response.error
        return (result.response.status.value if error is None else error.code.value), result.output

    async def answers(self) -> list[tuple[str, str]]:
        return [await self.call(name, arguments) for name, arguments in CALLS]

    async def close(self) -> None:
        await self.context.aclose()
        self.workspace.close()


def play(arena: Arena, *steps: Callable[[], object], confinement: Confinement = "auto") -> list[list[tuple[str, str]]]:
    """The answers of every tool after each step, all in one session."""

    async def session() -> list[list[tuple[str, str]]]:
        used = Session(arena.root, confinement)
        await used.answers()
        found = []
        for step in steps:
            step()
            found.append(await used.answers())
        await used.close()
        return found

    return run_as(arena.uid, lambda: asyncio.run(session()))


def assert_gone(answers: list[tuple[str, str]], code: str = "NOT_FOUND") -> None:
    for (name, _), (status, output) in zip(CALLS, answers, strict=True):
        assert "The project root is gone" in output, f"{name}: {output}"
        assert status in (code, "partial"), name  # an agent command that failed keeps the shape of Bash
    assert [status for (name, arguments), (status, _) in zip(CALLS, answers, strict=True)][:7] == [code] * 7


def recreate(root: Path, content: str = "x again\n") -> None:
    root.mkdir()
    (root / "f.txt").write_text(content)


@pytest.mark.parametrize("confinement", ["openat2", "walk"])
def test_a_deleted_root_is_gone_for_every_tool_and_picked_up_when_it_is_back(
    arena: Arena, confinement: Confinement
) -> None:
    gone, back = play(arena, lambda: shutil.rmtree(arena.root), lambda: recreate(arena.root), confinement=confinement)

    assert_gone(gone)
    assert [status for status, _ in back] == ["success"] * len(CALLS)
    assert "x again" in back[6][1]
    assert (arena.root / "g.txt").read_text() == "x\n"


def test_a_moved_root_is_gone_and_its_replacement_is_not_used(arena: Arena) -> None:
    moved = arena.base / "moved"

    def put_back() -> None:
        shutil.rmtree(arena.root)
        moved.rename(arena.root)

    gone, replaced, back = play(
        arena, lambda: arena.root.rename(moved), lambda: recreate(arena.root, "another x\n"), put_back
    )

    assert_gone(gone)
    assert_gone(replaced, "CONFLICT")
    assert [status for status, _ in back] == ["success"] * len(CALLS)


def test_a_link_in_the_place_of_a_deleted_root_is_never_followed(arena: Arena) -> None:
    def link() -> None:
        shutil.rmtree(arena.root)
        arena.root.symlink_to(arena.evil)

    (answers,) = play(arena, link)
    assert_gone(answers, "CONFLICT")
    assert arena.canary not in repr(answers)
    assert os.listdir(arena.evil) == ["secret.txt"]


def test_a_link_on_the_way_to_a_deleted_root_is_never_followed(arena: Arena) -> None:
    """The root's own directory is new, but the way to it leads through a link."""
    inner = arena.root / "inner"
    inner.mkdir()
    (inner / "f.txt").write_text("x\n")
    twin = arena.evil / "inner"
    twin.mkdir()
    (twin / "f.txt").write_text(arena.canary)
    arena.own()

    def swap() -> None:
        shutil.rmtree(inner)
        arena.root.rename(arena.base / "old")
        arena.root.symlink_to(arena.evil)

    async def session() -> list[tuple[str, str]]:
        used = Session(inner)
        await used.answers()
        swap()
        answers = await used.answers()
        await used.close()
        return answers

    answers = run_as(arena.uid, lambda: asyncio.run(session()))
    assert_gone(answers, "CONFLICT")
    assert arena.canary not in repr(answers)


@pytest.mark.skipif(os.geteuid() != 0, reason="a directory of another user needs root: run the tests as root")
def test_a_directory_of_another_user_is_not_picked_up() -> None:
    with arena_for(0) as arena:

        def recreate_as_another() -> None:
            shutil.rmtree(arena.root)
            recreate(arena.root)
            os.chown(arena.root, NOBODY, NOBODY)

        (answers,) = play(arena, recreate_as_another)
        assert_gone(answers, "CONFLICT")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root: run the tests as root")
@pytest.mark.parametrize("below", ["", "project"])
def test_a_file_system_that_is_taken_away_is_gone_and_picked_up_when_it_is_back(below: str) -> None:
    """Only root can mount. What lies below the mount point is not the project, also if it belongs to the same user."""
    with arena_for(0) as arena:
        root = arena.root / below
        root.mkdir(exist_ok=True)

        def attach() -> None:
            mount(arena.root, 1 << 20, 0)
            root.mkdir(exist_ok=True)
            (root / "f.txt").write_text("x\n")

        async def session() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
            used = Session(root)
            await used.answers()
            unmount(arena.root)
            gone = await used.answers()
            attach()
            back = await used.answers()
            await used.close()
            return gone, back

        attach()
        try:
            gone, back = asyncio.run(session())
        finally:
            unmount(arena.root)

        assert_gone(gone)
        assert [status for status, _ in back] == ["success"] * len(CALLS)
        assert [path.name for path in root.iterdir() if path.name == "g.txt"] == []


def test_a_root_that_goes_while_the_person_decides_is_gone(arena: Arena) -> None:
    class Slow(AutoApprover):
        async def decide(self, request: toolgate.ApprovalRequest) -> toolgate.Approval:
            shutil.rmtree(arena.root)
            return await super().decide(request)

    async def session() -> tuple[str, str]:
        used = Session(arena.root)
        used.context.approver = Slow()
        used.toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, used.context)
        await used.call("read_file", {"path": "f.txt"})
        answer = await used.call("edit_file", {"path": "f.txt", "old_string": "x", "new_string": "y"})
        await used.close()
        return answer

    status, output = run_as(arena.uid, lambda: asyncio.run(session()))
    assert status in ("NOT_FOUND", "CONFLICT"), output
    assert not arena.root.exists()


def test_undo_of_a_root_that_is_gone_says_so(arena: Arena) -> None:
    def attempt() -> str:
        workspace = toolgate.Workspace(arena.root)
        shutil.rmtree(arena.root)
        try:
            workspace.journal.undo()
        except toolgate.ToolError as error:
            return error.message
        return "nothing to take back"

    assert "The project root is gone" in run_as(arena.uid, attempt)
