"""Reading 2,000 lines at the beginning, in the middle and at the end of a 1 GB file, and again elsewhere in it."""

import json
import time
from collections.abc import Awaitable, Callable
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

Read = Callable[[str, int, int], Awaitable[str]]

LINES = 10_000_000
LINE = "%09d the quick brown fox jumps over the lazy dog 0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJK\n"
COUNT = 2000
OFFSETS = {"head": 0, "middle": LINES // 2, "end": LINES - COUNT, "later": LINES // 4}


def file() -> Path:
    """The file that is read."""
    from benchmarks.harness import DATA

    return DATA / "1gb.txt"


def prepare() -> None:
    """Make the file, and have it in the page cache."""
    path = file()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            for start in range(0, LINES, 100_000):
                out.write("".join(LINE % number for number in range(start, start + 100_000)).encode())
    with path.open("rb") as data:
        while data.read(1 << 24):
            pass


async def stream_bytes(path: str, offset: int, limit: int) -> str:
    """The fastest stream over the bytes."""
    with open(path, "rb", buffering=1 << 20) as data:  # noqa: ASYNC230 the floor is blocking on purpose
        return b"".join(islice(data, offset, offset + limit)).decode()


async def stream_text(path: str, offset: int, limit: int) -> str:
    """The same over text."""
    with open(path, encoding="utf-8") as data:  # noqa: ASYNC230 the floor is blocking on purpose
        return "".join(islice(data, offset, offset + limit))


def ours() -> Read:
    """`read_file` through the whole pipeline."""
    import toolgate

    toolsets: dict[str, Any] = {}

    async def read(path: str, offset: int, limit: int) -> str:
        folder = str(Path(path).parent)
        if folder not in toolsets:
            context = toolgate.ToolContext(workspace=toolgate.Workspace(folder), mode=toolgate.ToolMode.coding)
            toolsets[folder] = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
        arguments = json.dumps({"path": Path(path).name, "start_line": offset + 1, "limit": limit})
        result = await toolsets[folder].handle(toolgate.ToolCall(id="1", name="read_file", arguments=arguments))
        assert not result.is_error, result.message
        return str(result.output)

    return read


async def setup(implementation: Any) -> Read:
    """One read of another file beforehand, so that imports are not part of the time."""
    read: Read = implementation() if implementation is ours else implementation
    small = file().with_name("small.txt")
    small.write_text(LINE % 0 * COUNT, encoding="utf-8")
    await read(str(small), 0, COUNT)
    return read


def memory(field: str) -> float:
    """A line of /proc/self/status, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(field))


async def measure(read: Read, case: str) -> Sample:
    """One read in a fresh process; `later` comes after a first one of the end."""
    path = str(file())
    if case == "later":
        await read(path, OFFSETS["end"], COUNT)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = memory("VmRSS")
    begin = time.perf_counter()
    text = await read(path, OFFSETS[case], COUNT)
    spent = time.perf_counter() - begin
    assert f"{OFFSETS[case]:09d} the" in text, text[:200]
    return Sample(value=spent * 1e3, extra={"MiB": memory("VmHWM") - before, "lines": text.count("the quick")})


READ = Bench(
    name="read",
    unit="ms for 2,000 lines of a 1 GB file",
    cases=list(OFFSETS),
    floor="stream of bytes",
    references=["stream of text"],
    contenders={"stream of bytes": stream_bytes, "stream of text": stream_text, "toolgate": ours},
    setup=setup,
    measure=measure,
    prepare=prepare,
    role="read",
    fresh=True,
    rounds=5,
    timeout=60.0,
    targets=[
        Target(contender="toolgate", case="head", at_most=2.0),
        Target(contender="toolgate", case="middle", at_most=1.3),
        Target(contender="toolgate", case="end", at_most=1.3),
        Target(contender="toolgate", case="later", at_most=3.0, against="toolgate", against_case="head"),
        Target(contender="toolgate", case="head", at_most=8.0, extra="MiB"),
        Target(contender="toolgate", case="middle", at_most=8.0, extra="MiB"),
        Target(contender="toolgate", case="end", at_most=8.0, extra="MiB"),
    ],
)
