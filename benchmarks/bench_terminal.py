"""A key typed into a program in a terminal, until its answer is there."""

import asyncio
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

from benchmarks.bench import Bench, Sample, Target

CASES = {
    "a key in bash": ("env -i PS1= TERM=dumb bash --norc --noprofile -i", "k", "k"),
    "a line in python": ("python3 -qic 'import sys; sys.ps1 = sys.ps2 = str()'", "'an'+'swer'\r", "answer'\r\n"),
}
"""Program, what is typed, and what has to come back."""
KEYS = 50


class Conversation(Protocol):
    """What takes part: a program in a terminal."""

    async def start(self, command: str) -> None:
        """Start it, and wait until it reads."""
        ...

    async def say(self, text: str, answer: str) -> None:
        """Type something and wait for the answer."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class PlainPty:
    """The floor: a pseudo-terminal that the event loop reads, without a sandbox and without a screen."""

    async def start(self, command: str) -> None:
        """Start it."""
        self._master, slave = os.openpty()
        self._process = _start(command, slave)
        os.close(slave)
        os.set_blocking(self._master, False)
        self._seen = b""
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._master, self._read)
        await asyncio.sleep(1)

    def _read(self) -> None:
        self._seen += os.read(self._master, 65536)
        self._more.set()

    async def say(self, text: str, answer: str) -> None:
        """Type, and read until the answer is there."""
        self._seen = b""
        os.write(self._master, text.encode())
        while answer.encode() not in self._seen:
            self._more.clear()
            await self._more.wait()

    async def close(self) -> None:
        """Kill it."""
        asyncio.get_running_loop().remove_reader(self._master)
        self._process.kill()
        self._process.wait()
        os.close(self._master)


class Console:
    """A job of ours in its sandbox, with its screen."""

    async def start(self, command: str) -> None:
        """Start it."""
        from toolgate.shell import ShellSession
        from toolgate.shell.console import Console as JobConsole
        from toolgate.workspace import Workspace

        self._session = ShellSession(Workspace(data()))
        self._console = JobConsole("tty")
        result = await self._session.execute(command, background=True, console=self._console)
        self._run = self._session.jobs.run(str(result.job_id))
        await asyncio.sleep(1)

    async def say(self, text: str, answer: str) -> None:
        """Type, and wait for the answer."""
        self._console.take_recent()
        self._console.send(text)
        shown = answer.replace("\r\n", "\n")
        outcome = await self._console.wait(self._run.finished, timeout=10, text=shown, already=False)
        assert outcome == "found", outcome

    async def close(self) -> None:
        """End it."""
        await self._session.close()


class Call:
    """A call of `Terminal` through every gate: what is typed is analysed, planned and recorded."""

    async def start(self, command: str) -> None:
        """Start it."""
        import toolgate
        from toolgate.testing import AutoApprover

        self._context = toolgate.ToolContext(
            workspace=toolgate.Workspace(data()), mode=toolgate.ToolMode.coding, approver=AutoApprover()
        )
        self._toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, self._context)
        await self._handle("Bash", command=command, tty=True)

    async def _handle(self, name: str, **arguments: Any) -> str:
        from toolgate import ToolCall

        result = await self._toolset.handle(ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
        assert not result.is_error, result.message
        output: str = result.output
        return output

    async def say(self, text: str, answer: str) -> None:
        """Type, and wait for the answer."""
        typed = text.replace("\r", "\n")
        await self._handle("Terminal", job="job-1", text=typed, wait_for=answer.replace("\r\n", "\n"))

    async def close(self) -> None:
        """End it."""
        await self._context.aclose()


class LookingCall(Call):
    """The same without an answer to wait for, as most models make it: it ends when the program waits for input."""

    async def say(self, text: str, answer: str) -> None:
        """Type, and look."""
        shown = await self._handle("Terminal", job="job-1", text=text.replace("\r", "\n"))
        assert answer.strip() in shown, shown


def _start(command: str, terminal: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["setsid", "-c", "bash", "-c", command], stdin=terminal, stdout=terminal, stderr=terminal)


def data() -> Path:
    """The project of the jobs."""
    from benchmarks.harness import DATA

    folder = DATA / "terminal"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


async def measure(kind: type[Conversation], case: str) -> Sample:
    """The median of some keys."""
    command, text, answer = CASES[case]
    conversation = kind()
    await conversation.start(command)
    times = []
    try:
        for number in range(KEYS):
            begin = time.perf_counter()
            await conversation.say(text, answer)
            if number >= KEYS // 5:
                times.append(time.perf_counter() - begin)
            await asyncio.sleep(0.002)
    finally:
        await conversation.close()
    return Sample(value=sorted(times)[len(times) // 2] * 1e6)


TERMINAL = Bench(
    name="terminal",
    unit="µs per key",
    cases=list(CASES),
    floor="plain pty",
    contenders={
        "plain pty": PlainPty,
        "toolgate job": Console,
        "toolgate Terminal call": Call,
        "toolgate Terminal call without wait_for": LookingCall,
    },
    measure=measure,
    rounds=5,
    targets=[Target(contender="toolgate job", case=case, at_most=2.0) for case in CASES],
    note="`toolgate Terminal call` is the whole call: what is typed so far is analysed again before every key. Without "
    "`wait_for` it also looks twice, 15 ms apart, whether the program waits for input again.",
)
