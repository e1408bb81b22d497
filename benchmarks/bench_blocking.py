"""How long one call keeps the event loop from anything else: a ticker beside large outputs, diffs and arguments."""

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target
from benchmarks.bench_shell import FILES, prepare
from benchmarks.bench_shell import data as shell_data

Run = Callable[[], Awaitable[Any]]
Check = Callable[[Any], None]

_TICK = 0.0005
_REPEATS = 5
"""The least of so many is reported: what the call itself blocks comes back every time, a busy machine does not."""
_LINES = 20_000
_COMMANDS = 5_000
_ARGUMENT = 10_000_000


class Ticker:
    """Wakes up as often as it can, and remembers the longest time between two ticks, and the most work."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.worked = 0.0
        self._task = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        before, worked = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(_TICK)
            now, work = time.perf_counter(), time.thread_time()
            self.longest = max(self.longest, now - before - _TICK)
            self.worked = max(self.worked, work - worked)
            before, worked = now, work

    async def stop(self) -> tuple[float, float]:
        """End it; the longest wait, and the most work of the event loop between two ticks, in milliseconds."""
        self._task.cancel()
        await asyncio.wait([self._task])
        return self.longest * 1e3, self.worked * 1e3


class Idle:
    """The floor: nothing runs beside the ticker."""

    async def start(self) -> None:
        """Nothing to start."""

    def made(self, _case: str) -> tuple[Run, Check]:
        """Wait for a while."""
        return partial(asyncio.sleep, 0.2), lambda _result: None

    async def close(self) -> None:
        """Nothing to close."""


class Ours:
    """An open toolset."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()
        self._root = Path()
        self._handle: Any = None

    async def start(self) -> None:
        """Open it, and run a first command."""
        import toolgate
        from toolgate.settings import Settings
        from toolgate.testing import AutoApprover

        self._root = Path(self._open.enter_context(tempfile.TemporaryDirectory(dir=shell_data())))
        (self._root / FILES["50MB"][0]).hardlink_to(shell_data() / FILES["50MB"][0])
        opened = toolgate.open(self._root, toolgate.ToolMode.coding, AutoApprover(), Settings.defaults())
        self._handle = (await self._open.enter_async_context(opened)).handle
        run, check = self._made("Bash", {"command": "true"}, lambda result: result.response.data["exit_code"] == 0)
        check(await run())

    def made(self, case: str) -> tuple[Run, Check]:
        """A new call of a case, and the check of its answer."""
        if case == "50 MB output":
            size = FILES["50MB"][1]
            command = {"command": f"cat {FILES['50MB'][0]}"}
            return self._made("Bash", command, lambda result: result.response.stats["stdout_bytes"] == size)
        if case == "5,000-command line":
            command = {"command": "; ".join(f"echo {number}" for number in range(_COMMANDS))}
            return self._made("Bash", command, lambda result: str(_COMMANDS - 1) in result.output)
        if case == "10 MB argument":  # more than a call may carry
            content = {"path": "large.txt", "content": "x" * _ARGUMENT}
            return self._made("write_file", content, lambda result: "larger than" in result.message, refused=True)
        stamp = time.monotonic_ns()
        text = "".join(f"{stamp} line {number}\n" for number in range(_LINES))
        file = self._root / "lines.txt"
        return self._made("write_file", {"path": file.name, "content": text}, lambda _: file.read_text() == text)

    def _made(
        self, name: str, arguments: dict[str, Any], is_right: Callable[[Any], bool], *, refused: bool = False
    ) -> tuple[Run, Check]:
        import toolgate

        call = toolgate.ToolCall(id="1", name=name, arguments=json.dumps(arguments))

        def check(result: Any) -> None:
            assert result.is_error is refused, result.message
            assert is_right(result), result.output[-500:]

        return lambda: self._handle(call), check

    async def close(self) -> None:
        """Close the toolset."""
        await self._open.aclose()


async def setup(make: Callable[[], Any]) -> Any:
    """One contender, started."""
    contender = make()
    await contender.start()
    return contender


async def measure(contender: Any, case: str) -> Sample:
    """The longest time that the ticker had to wait, in the best of some calls."""
    waits = []
    for _ in range(_REPEATS + 1):
        run, check = contender.made(case)
        ticker = Ticker()
        await asyncio.sleep(0.01)
        result = await run()
        waits.append(await ticker.stop())
        check(result)
    least = [min(each) for each in zip(*waits[1:], strict=True)]
    return Sample(value=least[0], extra={"work ms": least[1]})


_CASES = ["50 MB output", "20,000-line diff", "10 MB argument", "5,000-command line"]

BLOCKING = Bench(
    name="blocking",
    unit="ms that a ticker on the same event loop had to wait",
    cases=_CASES,
    floor="nothing",
    contenders={"nothing": Idle, "toolgate": Ours},
    setup=setup,
    measure=measure,
    prepare=prepare,
    rounds=3,
    note="`work ms`: the processor time of the event loop's thread between two ticks, whatever else runs.",
    targets=[Target(contender="toolgate", case=case, at_most=5.0, extra="work ms") for case in _CASES],
)
