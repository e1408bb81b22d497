"""The transcript store: one durable append (the commit awaited), 32 sessions at once, and reading 10,000 messages."""

import asyncio
import itertools
import json
import os
import shutil
import sqlite3
import time
from collections import Counter
from typing import Any, Protocol

from benchmarks.bench import Bench, Sample, Target

BODY = "The quick brown fox jumps over the lazy dog. " * 10
SESSIONS = 32
LONG = 10_000
RAW = """
CREATE TABLE m (id INTEGER PRIMARY KEY, sid TEXT NOT NULL, role TEXT, body TEXT);
CREATE INDEX ix ON m (sid, id);
"""
INSERT = "INSERT INTO m (sid, role, body) VALUES (?, ?, ?)"


class Store(Protocol):
    """What is measured."""

    async def append(self, session: str, role: str, content: str) -> None: ...
    async def history(self, session: str) -> list[Any]: ...
    async def close(self) -> None: ...


def _row(session: str, role: str, content: str) -> tuple[str, str, str]:
    return session, role, json.dumps({"role": role, "content": content})


class Raw:
    """sqlite3 in the event loop: a commit stops everybody."""

    def __init__(self, folder: str) -> None:
        self.connection = sqlite3.connect(f"{folder}/raw.db", isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.executescript(RAW)

    async def append(self, session: str, role: str, content: str) -> None:
        self.connection.execute(INSERT, _row(session, role, content))

    async def history(self, session: str) -> list[Any]:
        rows = self.connection.execute("SELECT body FROM m WHERE sid = ? ORDER BY id", (session,))
        return [json.loads(body) for (body,) in rows]

    async def close(self) -> None:
        self.connection.close()


class Group(Raw):
    """What has queued up while the last commit ran goes into the next one, in a thread."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.queue: list[tuple[asyncio.Future[None], tuple[str, str, str]]] = []
        self.pumping: asyncio.Task[None] | None = None

    async def append(self, session: str, role: str, content: str) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.queue.append((future, _row(session, role, content)))
        if self.pumping is None:
            self.pumping = asyncio.create_task(self._pump())
        await future

    async def _pump(self) -> None:
        while self.queue:
            batch, self.queue = self.queue, []
            rows = [row for _, row in batch]
            await asyncio.get_running_loop().run_in_executor(None, self._commit, rows)
            for future, _ in batch:
                future.set_result(None)
        self.pumping = None

    def _commit(self, rows: list[tuple[str, str, str]]) -> None:
        self.connection.execute("BEGIN")
        self.connection.executemany(INSERT, rows)
        self.connection.execute("COMMIT")


class Ours:
    """`SessionManager`: the log, the projection, the number and the lease, in one transaction."""

    def __init__(self, folder: str) -> None:
        from toolgate.sessions import Database, SessionManager
        from toolgate.settings import Settings

        self.db = Database(f"sqlite:///{folder}/toolgate.db")
        self.manager = SessionManager(self.db, Settings.defaults().session)
        self.ids: dict[str, Any] = {}

    async def append(self, session: str, role: str, content: str) -> None:
        lease = self.ids.get(session) or await self._open(session)
        await self.manager.append_message(lease.session_id, role, content, lease=lease)

    async def _open(self, session: str) -> Any:
        if not self.ids:
            await self.db.migrate()
        self.ids[session] = lease = await self.manager.try_claim((await self.manager.create()).id)
        return lease

    async def history(self, session: str) -> list[Any]:
        return await self.manager.messages(self.ids[session].session_id)

    async def close(self) -> None:
        await self.db.close()


class Prepared:
    """A store with a long session in it, in a place of its own."""

    def __init__(self, store: Store, folder: str) -> None:
        self.store = store
        self.folder = folder
        self.number = itertools.count()
        self.written = Counter({str(number): 1 for number in range(SESSIONS)} | {"one": 1})

    async def close(self) -> None:
        await self.store.close()
        shutil.rmtree(self.folder)


async def setup(implementation: Any) -> Prepared:
    """Everybody opens their sessions and writes the long one before anything is measured."""
    from benchmarks.harness import DATA

    folder = f"{DATA}/store/{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    store: Store = implementation(folder)
    for session in ["one", "long", *(str(number) for number in range(SESSIONS))]:
        await store.append(session, "user", BODY)
    for begin in range(1, LONG, 500):
        await asyncio.gather(
            *(
                store.append("long", "assistant" if number % 2 else "user", f"{number} {BODY}")
                for number in range(begin, min(begin + 500, LONG))
            )
        )
    return Prepared(store, folder)


async def measure(prepared: Prepared, case: str) -> Sample:
    """Medians of single appends; the time a message of many; the best of three readings."""
    return await {"append": _append, "32 at once": _append32, "read 10,000": _read}[case](prepared)


async def _append(prepared: Prepared) -> Sample:
    times: list[float] = []
    end = time.perf_counter() + 0.6
    while time.perf_counter() < end and len(times) < 400:
        number = next(prepared.number)
        begin = time.perf_counter()
        await prepared.store.append("one", "assistant" if number % 2 else "user", f"{number} {BODY}")
        times.append(time.perf_counter() - begin)
    prepared.written["one"] += len(times)
    assert len(await prepared.store.history("one")) == prepared.written["one"]
    return Sample(value=sorted(times)[len(times) // 2] * 1e6)


async def _append32(prepared: Prepared) -> Sample:
    count = 0
    begin = time.perf_counter()
    end = begin + 0.8

    async def one(session: str) -> None:
        nonlocal count
        while time.perf_counter() < end:
            await prepared.store.append(session, "user", BODY)
            prepared.written[session] += 1
            count += 1

    await asyncio.gather(*(one(str(number)) for number in range(SESSIONS)))
    spent = time.perf_counter() - begin
    for session in ("0", str(SESSIONS - 1)):
        assert len(await prepared.store.history(session)) == prepared.written[session]
    return Sample(value=spent / count * 1e6)


async def _read(prepared: Prepared) -> Sample:
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        found = await prepared.store.history("long")
        best = min(best, time.perf_counter() - begin)
        assert len(found) == LONG
    return Sample(value=best * 1e6)


FLOOR, GROUP = "sqlite3", "sqlite3 in groups"
STORE = Bench(
    name="store",
    unit="µs",
    cases=["append", "32 at once", "read 10,000"],
    floor=FLOOR,
    references=[GROUP],
    contenders={FLOOR: Raw, GROUP: Group, "toolgate": Ours},
    setup=setup,
    measure=measure,
    rounds=7,
    targets=[
        Target(contender="toolgate", case="append", at_most=2.5),
        Target(contender="toolgate", case="32 at once", at_most=1.6, against=GROUP),
        Target(contender="toolgate", case="read 10,000", at_most=2.0),
    ],
    note="WAL with synchronous=FULL everywhere; an append has returned when it is on the disk.",
)
