"""One exact, unique replacement in the middle of a file of 1 MB and of 50 MB."""

import json
import mmap
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

Change = Callable[[str, str, str], Awaitable[None]]

OLD, NEW = "the_unique_needle = 41", "the_unique_needle = 42  # changed"
SIZES = {"1 MB": 1_000_000, "50 MB": 50_000_000}
LINE = "x" * 99 + "\n"


def _write(path: str, content: bytes) -> None:
    fd = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(path + ".tmp", path)


async def rewrite(path: str, old: str, new: str) -> None:
    """Read, replace, fsync, rename."""
    content = Path(path).read_bytes()
    wanted = old.encode()
    position = content.find(wanted)
    assert position >= 0
    assert content.find(wanted, position + 1) < 0
    _write(path, content[:position] + new.encode() + content[position + len(wanted) :])


async def splice(path: str, old: str, new: str) -> None:
    """Find by mmap, splice by copy_file_range, fsync, rename."""
    wanted = old.encode()
    with open(path, "rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as view:  # noqa: ASYNC230
        position, size = view.find(wanted), len(view)
        assert view.find(wanted, position + 1) < 0
        fd = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _copy(source.fileno(), fd, 0, position)
            os.write(fd, new.encode())
            _copy(source.fileno(), fd, position + len(wanted), size)
            os.fsync(fd)
        finally:
            os.close(fd)
    os.rename(path + ".tmp", path)


def _copy(source: int, target: int, offset: int, end: int) -> None:
    while offset < end:
        offset += os.copy_file_range(source, target, end - offset, offset)


def ours() -> Change:
    """`edit_file` through the whole pipeline, approved, journalled and durable."""
    import toolgate
    from toolgate.testing import AutoApprover

    toolsets: dict[str, Any] = {}

    async def edit(path: str, old: str, new: str) -> None:
        folder = str(Path(path).parent)
        if folder not in toolsets:
            context = toolgate.ToolContext(
                workspace=toolgate.Workspace(folder), mode=toolgate.ToolMode.coding, approver=AutoApprover()
            )
            toolsets[folder] = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        arguments = json.dumps({"path": Path(path).name, "old_string": old, "new_string": new})
        result = await toolsets[folder].handle(toolgate.ToolCall(id="1", name="edit_file", arguments=arguments))
        assert not result.is_error, result.message

    return edit


async def setup(implementation: Any) -> Change:
    """One small edit beforehand, so that imports are not part of the time."""
    edit: Change = implementation() if implementation is ours else implementation
    path = _file("small")
    path.write_text(OLD, encoding="utf-8")
    await edit(str(path), OLD, NEW)
    return edit


def _file(case: str) -> Path:
    from benchmarks.harness import DATA

    folder = DATA / "edit"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{os.getpid()}-{case.replace(' ', '')}.txt"


async def measure(edit: Change, case: str) -> Sample:
    """The best of a few edits of a new file each."""
    lines = SIZES[case] // len(LINE) // 2
    best = float("inf")
    path = _file(case)
    for _ in range(5 if case == "1 MB" else 2):
        path.unlink(missing_ok=True)
        path.write_text(LINE * lines + OLD + "\n" + LINE * lines, encoding="utf-8")
        begin = time.perf_counter()
        await edit(str(path), OLD, NEW)
        best = min(best, time.perf_counter() - begin)
        content = path.read_bytes()
        assert NEW.encode() in content
        assert len(content) == 2 * lines * len(LINE) + len(NEW) + 1
    path.unlink()
    return Sample(value=best * 1e3)


EDIT = Bench(
    name="edit",
    unit="ms",
    cases=list(SIZES),
    floor="read, replace, fsync, rename",
    references=["copy_file_range, fsync, rename"],
    contenders={"read, replace, fsync, rename": rewrite, "copy_file_range, fsync, rename": splice, "toolgate": ours},
    setup=setup,
    measure=measure,
    role="edit",
    rounds=7,
    targets=[
        Target(contender="toolgate", case="1 MB", at_most=2.0),
        Target(contender="toolgate", case="50 MB", at_most=1.5, against="copy_file_range, fsync, rename"),
    ],
)
