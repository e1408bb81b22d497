"""Workers as real processes on a real PostgreSQL, and a client that hands turns out and watches them."""

import asyncio
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolgate.distributed.options import ClusterOptions
from toolgate.distributed.runner import DurableRunner
from toolgate.errors import StoreError
from toolgate.sessions import Database, Event, SessionManager, Turn
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import ApprovalRow
from toolgate.settings import SessionSettings, Settings

LEASE = 10.0
"""Seconds: no worker loses it only because the machine is busy. `Cluster.kill` lets those of the dead run out."""
SHORT_LEASE = 3.0 if os.environ.get("TOOLGATE_TORTURE", "1") == "1" else 5.0
"""Seconds, for tests that wait until a lease has run out."""
PATIENCE = 90.0
ROOT = Path(__file__).parents[2]


@dataclass
class Process:
    """A process that was started, and what it said."""

    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.signal(signal.SIGCONT)
        self.popen.wait(60)


@dataclass
class Cluster:
    """A database, what runs on it, and the directory that everything leaves its traces in."""

    url: str
    base: Path
    db: Database
    sessions: SessionManager
    runner: DurableRunner
    environment: dict[str, str]
    processes: list[Process] = field(default_factory=list)

    def workspace(self, name: str = "main") -> Path:
        path = self.base / name
        path.mkdir(exist_ok=True)
        return path

    def start(self, words: Iterable[str], name: str, **environment: str) -> Process:
        log = self.base / f"{name}{len(self.processes)}.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [sys.executable, *words],
                cwd=ROOT,
                env={**self.environment, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        process = Process(popen, log)
        self.processes.append(process)
        return process

    def worker(self, *names: str, **environment: str) -> Process:
        """Start a worker for these workspaces."""
        places = [f"{name}={self.workspace(name)}" for name in names or ("main",)]
        return self.start(["-m", "tests.distributed.program", *places], "worker", **environment)

    async def kill(self, worker: Process) -> None:
        """Kill a worker, and let its leases have run out: others take its turns over without a wait."""
        worker.kill()
        await self.bury(worker)

    async def bury(self, dead: Process) -> None:
        """Let the leases of a worker that has died have run out."""
        found = "SELECT id FROM workers WHERE name LIKE ?1"
        played = f"SELECT session_id FROM dispatches WHERE state = 'running' AND worker IN ({found})"

        def expire(transaction: Transaction) -> None:
            for sql in (
                f"UPDATE workers SET seen_at = seen_at - 1000 WHERE id IN ({found})",
                "UPDATE pgqueuer.pgqueuer SET heartbeat = heartbeat - INTERVAL '1000 seconds' "
                f"WHERE queue_manager_id::text IN ({found})",
                f"UPDATE sessions SET lease_until = lease_until - 1000 WHERE id IN ({played})",
            ):
                transaction.run(sql, f"%:{dead.popen.pid}")

        await self.db.write(expire)

    async def ready(self, *processes: Process) -> None:
        """Wait until these workers work."""
        for process in processes:
            await until(functools.partial(self._ready, process), what="a worker", logs=self.logs)

    def _ready(self, process: Process) -> bool:
        assert process.popen.poll() is None, process.output
        return "runs turns" in process.output

    async def session(self, user: str = "ada", project: str = "main") -> str:
        return (await self.sessions.create(user=user, project=project)).id

    async def begin(self, session_id: str, *steps: Any) -> Turn:
        return await self.runner.submit(session_id, json.dumps(list(steps)))

    async def ended(self, turn_id: str, patience: float = PATIENCE) -> Turn:
        """The turn, once it has ended."""
        found: list[Turn] = []

        async def over() -> bool:
            try:
                turn = await self.sessions.turn(turn_id)
            except StoreError:  # the database is unavailable; some tests are about that
                return False
            if turn is not None and turn.status != "running":
                found.append(turn)
            return bool(found)

        await until(over, what=f"the end of {turn_id}", logs=self.logs, patience=patience)
        return found[0]

    def logs(self) -> str:
        return "\n".join(f"--- {process.log.name}\n{process.output[-3000:]}" for process in self.processes)

    async def state(self, turn_id: str) -> str:
        """Where a turn is: queued, running, parked or ended."""
        row = await self.db.read(lambda tx: tx.row("SELECT state FROM dispatches WHERE turn_id = ?1", turn_id))
        return "" if row is None else str(row[0])

    async def becomes(self, turn_id: str, state: str) -> None:
        async def there() -> bool:
            return await self.state(turn_id) == state

        await until(there, what=f"{turn_id} to be {state}", logs=self.logs)

    async def player(self, turn_id: str) -> Process:
        """The process that plays the turn."""
        found: list[str] = []

        async def taken() -> bool:
            sql = "SELECT k.name FROM dispatches d JOIN workers k ON k.id = d.worker WHERE d.turn_id = ?1"
            row = await self.db.read(lambda tx: tx.row(sql, turn_id))
            if row is not None:
                found.append(row[0])
            return bool(found)

        await until(taken, what="a worker", logs=self.logs)
        return next(process for process in self.processes if found[0].endswith(f":{process.popen.pid}"))

    async def question(self, session_id: str) -> ApprovalRow:
        """The question that waits in a session, once there is one."""
        found: list[ApprovalRow] = []

        async def asked() -> bool:
            found[:] = [row for row in await self.sessions.approvals(session_id) if row.state == "pending"]
            return bool(found)

        await until(asked, what="a question", logs=self.logs)
        return found[0]

    async def events(self, session_id: str) -> list[Event]:
        return await self.sessions.events(session_id, limit=100_000)

    def let(self, name: str) -> None:
        """Let the tools go on that wait for this word."""
        (self.base / "effects" / f"let-{name}").touch()

    def effects(self, name: str = "notes") -> list[str]:
        path = self.base / "effects" / name
        return path.read_text().split() if path.exists() else []


async def until(
    condition: Callable[[], Any],
    *,
    what: str = "it",
    logs: Callable[[], str] | None = None,
    patience: float = PATIENCE,
) -> None:
    """Wait for a condition, which may be a coroutine function."""
    deadline = time.monotonic() + patience
    while True:
        answer = condition()
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer:
            return
        assert time.monotonic() < deadline, f"waited too long for {what}\n{logs() if logs else ''}"
        await asyncio.sleep(0.05)


OPTIONS = ClusterOptions.of(Settings.defaults(), lease=LEASE, turns_per_minute=0, grace=60.0, user_turns=4)


@contextlib.asynccontextmanager
async def cluster(
    url: str, base: Path, options: ClusterOptions = OPTIONS, **environment: str
) -> AsyncIterator[Cluster]:
    """A cluster without workers, on a database that nobody else uses."""
    (base / "effects").mkdir(exist_ok=True)
    db = Database(url)
    await db.migrate()
    runner = DurableRunner(db, url, options, Settings.defaults())
    await runner.start()
    made = Cluster(
        url=url,
        base=base,
        db=db,
        sessions=SessionManager(db, SessionSettings()),
        runner=runner,
        environment={
            **os.environ,
            "TOOLGATE_DATABASE_URL": url,
            "TOOLGATE_DISTRIBUTED_LEASE_SECONDS": str(options.lease),
            "TOOLGATE_DISTRIBUTED_PARK_SECONDS": "0.5",
            "TOOLGATE_LIMITS_USER_TURNS": str(options.user_turns),
            "TOOLGATE_LIMITS_USER_AGENTS": str(options.user_agents),
            "TEST_EFFECTS": str(base / "effects"),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            **environment,
        },
    )
    try:
        yield made
    finally:
        for process in made.processes:
            process.kill()
        await runner.aclose()
        await db.close()
