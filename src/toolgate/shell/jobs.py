"""Background jobs: commands that outlive their call and end with the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.shell.command_run import CommandRun
from toolgate.shell.result import StreamInfo

_REMEMBERED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInfo:
    """One background job, as `jobs` lists it."""

    id: str
    command: str
    running: bool
    exit_code: int | None
    seconds: float
    stdout_bytes: int
    stderr_bytes: int
    expired: bool = False
    """Whether it was ended at its own deadline."""
    terminal: bool = False
    """Whether it runs in a terminal."""

    @property
    def state(self) -> str:
        """How it is, in words."""
        if self.running:
            return "running"
        if self.expired:
            return "ended at its deadline"
        return "stopped" if self.exit_code is None else f"ended with exit code {self.exit_code}"


class Jobs:
    """The background jobs of one session."""

    def __init__(self, limit: int, stop: Callable[[CommandRun], Awaitable[None]]) -> None:
        self._limit = limit
        self._stop = stop
        self._runs: dict[str, CommandRun] = {}
        self.number = 0
        """Number of jobs so far, including those in other processes of this session. No id is used twice."""

    def check_room(self) -> None:
        """Refuse a job beyond the limit."""
        running = sum(1 for run in self._runs.values() if run.alive)
        if running >= self._limit:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"{running} background jobs are running, which is the limit.",
                "Wait for one with 'jobs wait ID', or end one with 'jobs stop ID'.",
            )

    def add(self, run: CommandRun) -> str:
        """Add a run and return its id. The oldest ended jobs are dropped."""
        ended = [name for name, old in self._runs.items() if not old.alive]
        for name in ended[: max(len(ended) - _REMEMBERED, 0)]:
            del self._runs[name]
        self.number += 1
        name = f"job-{self.number}"
        self._runs[name] = run
        return name

    def list(self) -> list[JobInfo]:
        """Return all jobs of the session, oldest first."""
        return [self._info(name) for name in self._runs]

    @property
    def any_running(self) -> bool:
        """Whether a job runs."""
        return any(run.alive for run in self._runs.values())

    def is_running(self, access: Access) -> bool:
        """Whether a job with this access runs."""
        return any(run.alive and run.access == access for run in self._runs.values())

    def get(self, name: str) -> JobInfo:
        """Return one job."""
        self._run(name)
        return self._info(name)

    def run(self, name: str) -> CommandRun:
        """Return the run of a job, to write to it and look at it."""
        return self._run(name)

    def output(self, name: str) -> tuple[str, str]:
        """Return what a job has printed so far; only head and tail if it is long."""
        run = self._run(name)
        return run.stdout.text(), run.stderr.text()

    def streams(self, name: str) -> tuple[StreamInfo, StreamInfo]:
        """Return the counts of what a job has printed, and where all of it is."""
        run = self._run(name)
        return run.stdout.info, run.stderr.info

    async def wait(self, name: str, timeout: float | None = None) -> JobInfo:
        """Wait until a job ends, or until `timeout`. The job continues either way."""
        run = self._run(name)
        await asyncio.wait([run.finished], timeout=timeout)
        return self._info(name)

    async def stop(self, name: str) -> JobInfo:
        """End a job with all its processes."""
        await self._stop(self._run(name))
        return self._info(name)

    async def close(self) -> None:
        """End all jobs."""
        await asyncio.gather(*(self._stop(run) for run in self._runs.values() if run.alive))

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Stop all jobs that can write the root during the block, except those that a person has approved."""
        writers = [run.process for run in self._runs.values() if run.alive and run.process.writes]
        try:
            for process in writers:
                if not await process.pause():
                    raise ToolError(
                        ErrorCode.EXECUTION_ERROR,
                        "A background job cannot be stopped for a moment, and could change the approved script.",
                        "End it with 'jobs stop ID', then make the call again.",
                    )
            yield
        finally:
            for process in writers:
                process.resume()

    def _run(self, name: str) -> CommandRun:
        run = self._runs.get(name)
        if run is None:
            known = ", ".join(self._runs) or "none"
            raise ToolError(
                ErrorCode.NOT_FOUND,
                f"There is no job '{name}'. Known jobs: {known}.",
                "Jobs end with the process that runs the session; if this one did, start its command again.",
            )
        return run

    def _info(self, name: str) -> JobInfo:
        run = self._runs[name]
        return JobInfo(
            id=name,
            command=run.command,
            running=run.alive,
            exit_code=run.exit_code,
            seconds=run.seconds,
            stdout_bytes=run.stdout.bytes,
            stderr_bytes=run.stderr.bytes,
            expired=run.expired,
            terminal=run.console is not None and run.console.kind == "tty",
        )
