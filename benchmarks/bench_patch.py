"""One patch that changes a line in each of 20 files."""

import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target
from benchmarks.bench_edit import _write

Change = Callable[[str, int], Awaitable[None]]

FILES = 20
CASES = {"200 lines": 200, "2000 lines": 2000}


def _line(number: int) -> str:
    return f"line {number} of a file that is changed in the middle\n"


async def atomically(folder: str, lines: int) -> None:
    """Read, replace a line, fsync, rename: each file by itself."""
    old, new = _line(lines // 2).encode(), b"changed\n"
    for number in range(FILES):
        path = f"{folder}/{number}.txt"
        content = Path(path).read_bytes()
        assert content.count(old) == 1
        _write(path, content.replace(old, new))


def ours() -> Change:
    """`apply_patch` through the whole pipeline: approved, all or nothing, journalled and durable."""
    import toolgate
    from toolgate.testing import AutoApprover

    toolsets: dict[str, Any] = {}

    async def apply(folder: str, lines: int) -> None:
        if folder not in toolsets:
            context = toolgate.ToolContext(
                workspace=toolgate.Workspace(folder), mode=toolgate.ToolMode.coding, approver=AutoApprover()
            )
            toolsets[folder] = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        middle = lines // 2
        hunk = f" {_line(middle - 1)}-{_line(middle)}+changed\n {_line(middle + 1)}"
        sections = "".join(f"*** Update File: {number}.txt\n@@\n{hunk}" for number in range(FILES))
        arguments = json.dumps({"patch": f"*** Begin Patch\n{sections}*** End Patch"})
        result = await toolsets[folder].handle(toolgate.ToolCall(id="1", name="apply_patch", arguments=arguments))
        assert not result.is_error, result.message

    return apply


def _fill(folder: Path, lines: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        (folder / f"{number}.txt").write_text("".join(map(_line, range(lines))), encoding="utf-8")
    os.sync()


def _folder() -> Path:
    from benchmarks.harness import DATA

    return DATA / "patch" / f"{os.getpid()}"


async def setup(implementation: Any) -> Change:
    """One patch beforehand, so that imports are not part of the time."""
    change: Change = implementation() if implementation is ours else implementation
    _fill(_folder(), 10)
    await change(str(_folder()), 10)
    return change


async def measure(change: Change, case: str) -> Sample:
    """The best of a few patches of new files."""
    best = float("inf")
    folder, lines = _folder(), CASES[case]
    for _ in range(5):
        _fill(folder, lines)
        begin = time.perf_counter()
        await change(str(folder), lines)
        best = min(best, time.perf_counter() - begin)
        for number in range(FILES):
            content = (folder / f"{number}.txt").read_text(encoding="utf-8")
            assert (content.count("changed\n"), content.count("\n")) == (1, lines)
    return Sample(value=best * 1e3)


PATCH = Bench(
    name="patch",
    unit="ms",
    cases=list(CASES),
    floor="read, replace, fsync, rename, 20 times",
    contenders={"read, replace, fsync, rename, 20 times": atomically, "toolgate": ours},
    setup=setup,
    measure=measure,
    rounds=5,
    targets=[Target(contender="toolgate", case=case, at_most=2.0) for case in CASES],
)
