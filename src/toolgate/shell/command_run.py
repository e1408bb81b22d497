"""One command in one shell process, from its start to its end."""

from __future__ import annotations

import asyncio
import time

from toolgate.protocol.plan import Access
from toolgate.shell.capture import Capture
from toolgate.shell.process import ShellProcess
from toolgate.shell.state import ShellState

_AT_ONCE = 0.1
_STEP = 0.002
_LOADING = 10.0
"""Seconds that a shell may take to start and to load its state."""


class StateStuck(Exception):
    """The shell did not take its command, because its state does not load. The command was not run."""


class ViewReplaced(Exception):
    """The shell was ended before it got its command, because it does not see what was planned."""


class CommandRun:
    """A command that is running or has run."""

    def __init__(self, command: str, process: ShellProcess, stdout: Capture, stderr: Capture) -> None:
        self.command = command
        self.process = process
        self.stdout = stdout
        self.stderr = stderr
        self.access: Access = process.view.access
        self.console = process.console
        """Where its input comes from; None if it has none."""
        self.came_from: ShellState | None = None
        """The shell's state before it, if the command had a directory of its own."""
        self.exit_code: int | None = None
        self.stopped = False
        self.expired = False
        """Whether it was ended at its own deadline."""
        self._started = time.monotonic()
        self._ended: float | None = None
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._ended is None

    @property
    def seconds(self) -> float:
        """Seconds that it has run."""
        return (self._ended or time.monotonic()) - self._started

    def begin(self) -> None:
        """Pass the command to the shell and capture its output."""
        if self.console is not None:
            self.stdout.on_bytes = self.stderr.on_bytes = self.console.show
        self.process.capture(self.stdout, self.stderr)
        self.process.feed(self.command.encode("utf-8"))

    async def wait(self, timeout: float) -> bool:
        """Wait until the command ends by itself; False at the deadline, which counts from when the shell took it."""
        ended = self.process.ended
        for _ in range(int(_LOADING / _AT_ONCE)):
            begin = time.monotonic()
            await asyncio.wait([ended], timeout=min(timeout, _AT_ONCE))
            if not self.process.alive:
                return True
            if self.process.taken():
                break
        else:
            raise StateStuck
        await asyncio.wait([ended], timeout=max(timeout - (time.monotonic() - begin), 0))
        return not self.process.alive

    async def taken(self) -> None:
        """Wait until the shell has taken the command, or has ended."""
        async with asyncio.timeout(_LOADING):
            while self.process.alive and not self.process.taken():
                await asyncio.wait([self.process.ended], timeout=_STEP)

    async def stop(self, grace: float) -> None:
        """End it with all its processes."""
        self.stopped = True
        await self.process.stop(grace)
        self.end()

    async def end_naturally(self) -> None:
        """Finish a command that ended by itself. Processes that it left running are ended."""
        await self.empty()
        self.end()

    async def empty(self) -> None:
        """End the processes that a command left running, and wait for them."""
        await self.process.end_rest()

    def end(self) -> None:
        """Read the remaining output and close the process."""
        if self._ended is not None:
            return
        self._ended = time.monotonic()
        self.process.drain(self.stdout, self.stderr)
        self.stdout.finish()
        self.stderr.finish()
        if self.process.ended.done() and not self.stopped:
            self.exit_code = self.process.ended.result()
        if self.console is not None:
            self.console.close()
        if not self.finished.done():
            self.finished.set_result(None)
