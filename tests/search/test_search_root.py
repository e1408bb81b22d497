"""Searches stay inside the root and are bounded, with ripgrep and without."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.searching import ENGINES, PYTHON, call, context, plant
from tests.support.arena import Arena, arena_for
from tests.support.privileges import UIDS, run_as
from tests.workspace.kit import swapper
from toolgate import CallableToolset, ToolCall
from toolgate.process import landlock
from toolgate.tools.builtin.glob import GlobTool
from toolgate.tools.builtin.grep import GrepTool
from toolgate.tools.builtin.ls import ListFilesTool

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
FILES = int(os.environ.get("TOOLGATE_SEARCH_FILES", str(3000 * TORTURE)))
"""Files of the tree of R04; a million takes a while to make."""

both_engines = pytest.mark.parametrize("engine", ENGINES, ids=["ripgrep", "python"])


@pytest.fixture(params=UIDS)
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena_for(request.param) as made:
        yield made


def handle(root: Path, engine: str | None, name: str, **arguments: Any) -> dict[str, Any]:
    """One call through the pipeline; its envelope."""

    async def run() -> dict[str, Any]:
        import json

        surroundings = context(root, ripgrep=engine)
        toolset = CallableToolset([GrepTool(), GlobTool(), ListFilesTool()], surroundings)
        result = await toolset.handle(ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
        assert surroundings.workspace is not None
        surroundings.workspace.close()
        document: dict[str, Any] = json.loads(result.response.to_json())
        return document

    return asyncio.run(run())


def attack(arena: Arena, engine: str | None, name: str, **arguments: Any) -> dict[str, Any]:
    """One call as the arena's user, after which the canary is nowhere."""
    arena.own()
    before = arena.manifest()
    document = run_as(arena.uid, lambda: handle(arena.root, engine, name, **arguments))
    assert arena.canary not in repr(document)
    assert arena.manifest() == before
    return document


@both_engines
@pytest.mark.parametrize(
    "pattern",
    [
        "../**/secret*",
        "/etc/*",
        "**/../../root-evil/*",
        "{..,src}/root-evil/*",
        "a/../../root-evil/*",
        "[.][.]/*",
        "d/*",
    ],
)
def test_p13_a_glob_finds_nothing_outside(arena: Arena, engine: str | None, pattern: str) -> None:
    (arena.root / "d").symlink_to(arena.evil)

    document = attack(arena, engine, "glob", pattern=pattern)

    assert document["data"].get("paths", []) == []
    assert document.get("error", {"code": "ACCESS_DENIED"})["code"] == "ACCESS_DENIED"


@both_engines
def test_p13_an_absolute_glob_outside_is_denied(arena: Arena, engine: str | None) -> None:
    document = attack(arena, engine, "glob", pattern=f"{arena.evil}/*")

    assert document["error"]["code"] == "ACCESS_DENIED"


@both_engines
def test_p14_links_are_not_followed_by_a_search(arena: Arena, engine: str | None) -> None:
    (arena.root / "d").symlink_to(arena.evil)
    (arena.root / "f").symlink_to(arena.evil / "secret.txt")

    document = attack(arena, engine, "grep", pattern="[0-9a-f]{32}|control", include_ignored=True)

    assert [match["file"] for match in document["data"]["matches"]] == ["control.txt"]


@both_engines
def test_p14_an_ignore_file_that_leads_out_is_not_quoted(arena: Arena, engine: str | None) -> None:
    (arena.root / ".gitignore").symlink_to(arena.evil / "secret.txt")

    document = attack(arena, engine, "grep", pattern="control")

    assert [match["file"] for match in document["data"]["matches"]] == ["control.txt"]
    assert str(arena.base) not in repr(document)


@both_engines
def test_p15_loops_end_and_nothing_is_found_twice(arena: Arena, engine: str | None) -> None:
    plant(arena.root, {"a/x.txt": "needle", "b/y.txt": "needle"})
    (arena.root / "self").symlink_to(".")
    (arena.root / "a" / "to_b").symlink_to("../b")
    (arena.root / "b" / "to_a").symlink_to("../a")

    found = attack(arena, engine, "grep", pattern="needle")

    assert [match["file"] for match in found["data"]["matches"]] == ["a/x.txt", "b/y.txt"]


@both_engines
@pytest.mark.parametrize("path", ["..", "/", "d", "evil", "l", "d/secret.txt"])
def test_p17_a_search_outside_is_denied(arena: Arena, engine: str | None, path: str) -> None:
    (arena.root / "d").symlink_to(arena.evil)
    (arena.root / "l").symlink_to(arena.evil / "secret.txt")

    document = attack(arena, engine, "grep", pattern=".", path=str(arena.evil) if path == "evil" else path)

    assert document["error"]["code"] == "ACCESS_DENIED"


@pytest.mark.torture
@both_engines
@pytest.mark.skipif(
    landlock.version() == 0, reason="without Landlock a search with ripgrep can be raced; run on Linux 5.13 or newer"
)
def test_p09_a_search_never_reads_through_a_swapped_directory(arena: Arena, engine: str | None) -> None:
    seen: set[str] = set()

    def search() -> set[str]:
        found = set()
        for _ in range((60 if engine is None else 15) * TORTURE):
            document = handle(arena.root, engine, "grep", pattern="[0-9a-z]+", include_ignored=True)
            found |= {match["text"] for match in document["data"].get("matches", [])}
        return found

    with swapper(arena):
        seen = run_as(arena.uid, search)

    assert seen <= {"control", "harmless", "0"}
    assert "control" in seen


@both_engines
def test_f01_a_fifo_does_not_hold_a_search(arena: Arena, engine: str | None) -> None:
    os.mkfifo(arena.root / "ff")
    started = time.monotonic()

    named = attack(arena, engine, "grep", pattern="x", path="ff")
    around = attack(arena, engine, "grep", pattern="control")

    assert named["error"]["code"] == "INVALID_PARAM"
    assert [match["file"] for match in around["data"]["matches"]] == ["control.txt"]
    assert time.monotonic() - started < 30


@both_engines
def test_f05_a_monstrous_line_is_clipped(arena: Arena, engine: str | None) -> None:
    with (arena.root / "long").open("wb") as file:
        for _ in range(20 * TORTURE):
            file.write(b"x" * 1_000_000)

    for path in ("long", "."):
        document = attack(arena, engine, "grep", pattern="xx", path=path)

        assert (document["status"], document["data"]["truncated"]) == ("partial", True)
        assert [len(match["text"]) < 2100 for match in document["data"]["matches"]] == [True]
        assert "clipped" in document["text"]


@pytest.mark.torture
@pytest.mark.timeout(120 + FILES // 5000)
async def test_r04_a_large_tree_is_answered_in_time(tmp_path: Path) -> None:
    for number in range(FILES):
        if number % 1000 == 0:
            (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number - number % 1000}" / f"f{number}").touch()
    (tmp_path / "d0" / "f0").write_text("needle")

    for tool, arguments in (
        (ListFilesTool(), {}),
        (GlobTool(), {"pattern": "**"}),
        (GrepTool(), {"pattern": "needle"}),
        (GrepTool(), {"pattern": "needle", "ripgrep": PYTHON}),
    ):
        started, memory = time.monotonic(), _memory()
        response = await call(tool, tmp_path, **arguments)

        assert time.monotonic() - started <= 10
        assert _memory() - memory < 64
        assert response.status in ("success", "partial")


async def test_r04_one_directory_with_many_entries_is_listed_in_pages(tmp_path: Path) -> None:
    for number in range(FILES):
        (tmp_path / f"f{number:07}").touch()

    response = await call(ListFilesTool(), tmp_path, offset=5, limit=2)

    assert [entry["path"] for entry in response.data["entries"]] == ["f0000005", "f0000006"]
    assert response.stats["total_entries"] == FILES


@both_engines
async def test_r05_many_matches_are_limited_and_counted(tmp_path: Path, engine: str | None) -> None:
    plant(tmp_path, {f"f{number}": "needle in a line\n" * 10_000 for number in range(10)})
    memory = _memory()

    response = await call(GrepTool(), tmp_path, pattern="needle", ripgrep=engine)

    assert (len(response.data["matches"]), response.stats["total_matches"]) == (100, 100_000)
    assert {match["file"] for match in response.data["matches"]} == {"f0"}
    assert _memory() - memory < 64


@both_engines
async def test_r09_a_hostile_pattern_leaves_the_loop_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str | None
) -> None:
    from toolgate.tools.builtin import grep

    monkeypatch.setattr(grep, "SECONDS", 2.0)
    plant(tmp_path, {"a": "a" * 30 + "b\n"})
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    surroundings = context(tmp_path, ripgrep=engine)
    toolset = CallableToolset([GrepTool()], surroundings)
    started = time.monotonic()
    result = await toolset.handle(ToolCall(id="1", name="grep", arguments='{"pattern": "(a+)+$"}'))
    took = time.monotonic() - started
    ticking.cancel()

    assert ticks >= 2 * took - 1  # a loop that stands still ticks once
    code = None if result.response.error is None else result.response.error.code
    assert code == ("TIMEOUT" if engine == PYTHON else None)


def _memory() -> float:
    """MiB that this process holds."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))
