"""Writes that must not lose anything: full disks, stale knowledge, concurrent edits."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.arena import Arena, arena_for
from tests.support.privileges import UIDS, run_as


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


@pytest.fixture
def small_disk(arena: Arena) -> Iterator[Arena]:
    """The arena's root on a file system of 1 MiB, nearly full."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root: run the tests as root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", arena.root], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here: run the tests in a privileged container")
    try:
        (arena.root / "control.txt").write_text("control\n")
        arena.own()
        yield arena
    finally:
        subprocess.run(["umount", "-l", arena.root], check=True)


def test_f09_a_full_disk_leaves_the_old_content(small_disk: Arena) -> None:
    target = small_disk.root / "f.txt"
    target.write_bytes(b"old\n" * 50_000)
    (small_disk.root / "filler").write_bytes(bytes(700_000))
    outcome = small_disk.call("write_file", path="f.txt", content="new\n" * 200_000)

    assert outcome.code == "EXECUTION_ERROR"
    assert target.read_bytes() == b"old\n" * 50_000
    assert not [name for name in os.listdir(small_disk.root) if name.startswith(".toolgate-tmp-")]


def test_f09_no_space_for_new_directories_leaves_none(small_disk: Arena) -> None:
    (small_disk.root / "filler").write_bytes(bytes(900_000))
    outcome = small_disk.call("write_file", path="a/b/c.txt", content="new\n" * 200_000)

    assert (outcome.code, (small_disk.root / "a").exists()) == ("EXECUTION_ERROR", False)


def _call(root: Path, name: str, **arguments: Any) -> str:
    """The error code or status of one call, without the arena's changes of ownership."""
    import toolgate
    from toolgate.testing import AutoApprover

    async def call() -> str:
        context = toolgate.ToolContext(
            workspace=toolgate.Workspace(root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
        )
        toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
        error = result.response.error
        return error.code.value if error else result.response.status.value

    return asyncio.run(call())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit_file", {"old_string": "control", "new_string": "mine"}),
        ("write_file", {"content": "mine\n"}),
        ("edit_file", {"old_string": "control", "new_string": "mine", "dry_run": True}),
    ],
)
def test_f11_stale_knowledge_is_a_conflict(arena: Arena, name: str, arguments: dict[str, Any]) -> None:
    import toolgate
    from toolgate.testing import AutoApprover

    def attack() -> tuple[str, str, str]:
        async def session() -> tuple[str, str, str]:
            context = toolgate.ToolContext(
                workspace=toolgate.Workspace(arena.root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
            )
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)

            async def call(tool: str, **given: Any) -> str:
                given = {"path": "control.txt", **given}
                result = await toolset.handle(toolgate.ToolCall(id="1", name=tool, arguments=json.dumps(given)))
                error = result.response.error
                return error.code.value if error else result.response.status.value

            await call("read_file")
            (arena.root / "control.txt").write_text("control\nother\n")
            first = await call(name, **arguments)
            kept = (arena.root / "control.txt").read_text()
            await call("read_file")
            return first, kept, await call(name, **arguments)

        return asyncio.run(session())

    first, kept, again = run_as(arena.uid, attack)
    assert (first, kept) == ("CONFLICT", "control\nother\n")
    assert again == ("partial" if arguments.get("dry_run") else "success")


def test_f12_an_edit_that_misses_changes_nothing(arena: Arena) -> None:
    target = arena.root / "f.txt"
    target.write_text("one\ntwo\n")
    arena.own()
    before = target.stat()
    outcome = arena.call("edit_file", path="f.txt", old_string="three", new_string="four")

    assert (outcome.code, "not found" in outcome.text) == ("INVALID_PARAM", True)
    after = target.stat()
    assert (target.read_text(), after.st_mtime_ns, after.st_ino) == ("one\ntwo\n", before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize(
    "content",
    [
        b"one\r\ntoken\r\nthree\r\n",
        b"\xef\xbb\xbfone\ntoken\n",
        b"one\ntoken",
        b"\tone\n\t\ttoken \t\n",
        b"one\r\ntoken\nthree\r",
        "one\ntoken\n\u2028\x0b\x0c\x85".encode(),
        b"\xff\xfe" + "one\r\ntoken\u0a0a\r\n".encode("utf-16-le"),
        b"\xfe\xff" + "one\ntoken".encode("utf-16-be"),
    ],
)
def test_f13_every_byte_outside_the_edit_stays(arena: Arena, content: bytes) -> None:
    encoding = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(content[:2], "utf-8")
    (arena.root / "f.txt").write_bytes(content)
    outcome = arena.call("edit_file", path="f.txt", old_string="token", new_string="word")

    assert outcome.status == "success"
    assert (arena.root / "f.txt").read_bytes() == content.replace("token".encode(encoding), "word".encode(encoding))


@pytest.mark.torture
def test_f15_concurrent_edits_are_never_lost(arena: Arena) -> None:
    """Two clients in processes of their own; an edit that was confirmed is in the file."""
    edits = 20 * int(os.environ.get("TOOLGATE_TORTURE", "1"))
    (arena.root / "shared.txt").write_text("".join(f"slot-{who}-{n}=free\n" for who in "ab" for n in range(edits)))
    arena.own()

    def client(who: str) -> list[tuple[int, str]]:
        done = []
        for number in range(edits):
            slot = f"slot-{who}-{number}="
            code = _call(
                arena.root, "edit_file", path="shared.txt", old_string=f"{slot}free\n", new_string=f"{slot}taken\n"
            )
            done.append((number, code))
        return done

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(zip("ab", pool.map(lambda who: run_as(arena.uid, lambda: client(who)), "ab"), strict=True))
    lines = (arena.root / "shared.txt").read_text().splitlines()

    assert {code for done in outcomes.values() for _, code in done} <= {"success", "CONFLICT"}
    assert len(lines) == 2 * edits
    for who, done in outcomes.items():
        for number, code in done:
            assert f"slot-{who}-{number}={'taken' if code == 'success' else 'free'}" in lines
    assert any(code == "success" for done in outcomes.values() for _, code in done)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("write_file", {"content": "new\n"}), ("edit_file", {"old_string": "old", "new_string": "new"})],
)
def test_f16_a_dry_run_changes_nothing(arena: Arena, name: str, arguments: dict[str, Any]) -> None:
    target = arena.root / "f.txt"
    target.write_text("old\n")
    arena.own()
    before = target.stat()
    outcome = arena.call(name, path="f.txt", dry_run=True, **arguments)

    assert (outcome.status, outcome.data["applied"]) == ("partial", False)
    assert "Dry-run only, no actual write performed." in outcome.text
    assert "-old\n+new\n" in outcome.data["diff"]
    assert (target.read_text(), target.stat().st_mtime_ns) == ("old\n", before.st_mtime_ns)
    assert not (arena.root / ".toolgate").exists()


def test_f11_a_touched_file_with_the_same_content_is_no_conflict(arena: Arena) -> None:
    def attack() -> list[str]:
        import toolgate
        from toolgate.testing import AutoApprover

        async def session() -> list[str]:
            context = toolgate.ToolContext(
                workspace=toolgate.Workspace(arena.root), mode=toolgate.ToolMode.coding, approver=AutoApprover()
            )
            toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
            edit = {"path": "control.txt", "old_string": "control", "new_string": "mine"}
            statuses = []
            for name, given in (("read_file", {"path": "control.txt"}), ("edit_file", edit)):
                result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=json.dumps(given)))
                statuses.append(result.response.status.value)
                os.utime(arena.root / "control.txt", (time.time() + 5, time.time() + 5))
            return statuses

        return asyncio.run(session())

    assert run_as(arena.uid, attack) == ["success", "success"]
