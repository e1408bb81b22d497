"""The shell: the round trip of a command, and the throughput of its output."""

import asyncio
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from benchmarks.bench import Bench, Sample, Target

PAUSE = 0.05
"""Seconds that a model leaves between two commands, at the very least."""
ROUNDS = 20
FILES = {"50MB": ("50mb.txt", 50_000_000), "200k lines": ("200k.txt", 1_288_890)}


class Shell(Protocol):
    """What takes part: runs a command, and says how many bytes it printed."""

    async def run(self, command: str) -> int:
        """Run it."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class Spawn:
    """The floor of a round trip: an unsandboxed bash, started and awaited by asyncio, without state."""

    async def run(self, command: str) -> int:
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return len(output)

    async def close(self) -> None:
        pass


class ToFile:
    """The floor of throughput: an unsandboxed bash that writes into a file itself."""

    async def run(self, command: str) -> int:
        handle, path = tempfile.mkstemp()
        os.close(handle)
        process = await asyncio.create_subprocess_exec("bash", "-c", f"{{ {command}; }} > {path}")
        await process.wait()
        size = Path(path).stat().st_size
        Path(path).unlink()
        return size

    async def close(self) -> None:
        pass


class Session:
    """A sandboxed session of ours, with all of its state."""

    def __init__(self) -> None:
        from toolgate.shell import ShellSession
        from toolgate.workspace import Workspace

        data().mkdir(parents=True, exist_ok=True)
        self._session = ShellSession(Workspace(data()))

    async def run(self, command: str) -> int:
        result = await self._session.execute(command)
        assert result.exit_code == 0, result.stderr
        return result.stdout_info.bytes

    async def close(self) -> None:
        await self._session.close()


def data() -> Path:
    """Where the printed files are."""
    from benchmarks.harness import DATA

    return DATA / "shell"


def prepare() -> None:
    """Make the files that are printed."""
    data().mkdir(parents=True, exist_ok=True)
    large, small = (data() / name for name, _ in FILES.values())
    if not large.exists():
        large.write_bytes((b"x" * 99 + b"\n") * 500_000)
    if not small.exists():
        small.write_text("".join(f"{number}\n" for number in range(200_000)))


async def setup(make: Callable[[], Shell]) -> Shell:
    """A shell that has run something."""
    shell = make()
    await shell.run("true")
    return shell


async def measure(shell: Any, case: str) -> Sample:
    """The median of some round trips, or one large output."""
    if case in FILES:
        name, size = FILES[case]
        before = _memory()
        await asyncio.sleep(PAUSE)
        begin = time.perf_counter()
        printed = await shell.run(f"cat {data() / name}")
        seconds = time.perf_counter() - begin
        assert printed == size, printed
        return Sample(value=seconds * 1e3, extra={"MB": _memory() - before})
    times = []
    for _ in range(ROUNDS):
        if case == "true, with a pause":
            await asyncio.sleep(PAUSE)
        begin = time.perf_counter()
        assert await shell.run("true") == 0
        times.append(time.perf_counter() - begin)
    return Sample(value=statistics.median(times) * 1e3)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _contenders() -> dict[str, Callable[[], Shell]]:
    return {"bash to a file": ToFile, "asyncio bash -c": Spawn, "toolgate": Session}


SHELL = Bench(
    name="shell",
    unit="ms",
    cases=["true, with a pause", "true, back to back", *FILES],
    floor="asyncio bash -c",
    references=["bash to a file"],
    contenders=_contenders(),
    measure=measure,
    setup=setup,
    prepare=prepare,
    rounds=7,
    targets=[
        Target(contender="toolgate", case="true, with a pause", at_most=1.1),
        Target(contender="toolgate", case="true, back to back", at_most=5.0),
        Target(contender="toolgate", case="50MB", at_most=1.5, against="bash to a file"),
        Target(contender="toolgate", case="200k lines", at_most=1.5, against="bash to a file"),
        Target(contender="toolgate", case="50MB", at_most=32, extra="MB"),
    ],
    note="toolgate is sandboxed and keeps its state and the whole output; the floors do neither.",
)
