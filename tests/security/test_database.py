"""Group D: faults of the session database. Real processes, real signals, real disks."""

import asyncio
import functools
import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import coding, rows
from tests.support.forks import Child, Say
from tests.support.privileges import run_as
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.record import CallRecord
from toolgate.sessions import (
    Database,
    Message,
    SessionBusy,
    SessionFenced,
    SessionManager,
    StoreError,
    connections,
    files,
)
from toolgate.sessions.schema import HEAD, REVISIONS, statements
from toolgate.sessions.transcript import NO_RESULT

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
KILLS = max(200, 50 * TORTURE)
NOBODY = 65534

pytestmark = pytest.mark.timeout(90 + 15 * TORTURE)


def manager_of(path: Path) -> SessionManager:
    return SessionManager(Database(f"sqlite:///{path}"), coding())


async def made(path: Path, sessions: int = 1) -> list[str]:
    """A database with some sessions in it, closed again."""
    manager = manager_of(path)
    await manager._db.migrate()
    ids = [(await manager.create()).id for _ in range(sessions)]
    await manager._db.close()
    return ids


@pytest.mark.torture
@pytest.mark.timeout(300 + 2 * TORTURE)
async def test_d01_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    sessions = await made(path, 4)
    acknowledged: dict[str, list[int]] = {session: [] for session in sessions}
    chance = random.Random(1)

    async def write(say: Say) -> None:
        manager = manager_of(path)

        async def endlessly(session: str) -> None:
            while True:
                say(f"{session} {await manager.append_message(session, 'user', 'x' * chance.randrange(3_000))}")

        await asyncio.gather(*(endlessly(session) for session in sessions))

    for _ in range(KILLS):
        child = Child(write)
        lines = [child.line()]
        await asyncio.sleep(chance.uniform(0, 0.02))
        for line in lines + child.kill():
            session, _, seq = line.partition(" ")
            if seq.isdecimal():
                acknowledged[session].append(int(seq))
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    for session in sessions:
        stored = [seq for (seq,) in rows(path, "SELECT seq FROM events WHERE session_id = ? ORDER BY seq", session)]
        assert stored == list(range(1, len(stored) + 1))
        assert set(acknowledged[session]) <= set(stored)
        assert rows(path, "SELECT seq FROM messages WHERE session_id = ? ORDER BY seq", session) == [
            (seq,) for seq in stored
        ]
    assert sum(map(len, acknowledged.values())) > 0


async def test_d02_a_holder_that_slept_through_its_lease_is_fenced(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)

    async def hold(say: Say) -> None:
        manager = manager_of(path)
        lease = await manager.try_claim(session, ttl=0.3)
        await manager.append_message(session, "user", "mine", lease=lease)
        say("claimed")
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            await manager.append_message(session, "user", "late", lease=lease)
        except SessionFenced:
            say("fenced")

    child = Child(hold)
    assert child.line() == "claimed"
    manager = manager_of(path)
    early = await manager.try_claim(session)
    await asyncio.sleep(0.35)
    lease = await manager.try_claim(session)
    assert lease is not None
    await manager.append_message(session, "user", "taken over", lease=lease)
    child.signal(signal.SIGCONT)
    ended = child.end()
    said = [message.content for message in await manager.messages(session)]
    await manager._db.close()

    assert (early, lease.fence) == (None, 2)
    assert ended == (0, ["fenced"])
    assert said == ["mine", "taken over"]


async def test_d03_a_crash_gives_the_session_back_and_the_fence_still_rises(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    fences = []

    async def crash(say: Say) -> None:
        lease = await manager_of(path).try_claim(session, ttl=3600)
        say(str(lease.fence) if lease else "none")
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(3):
        child = Child(crash)
        fences += [int(child.line())]
        child.end()
    manager = manager_of(path)
    lease = await manager.try_claim(session)
    await manager._db.close()

    assert lease is not None
    assert [*fences, lease.fence] == [1, 2, 3, 4]


async def test_d04_another_process_can_neither_renew_nor_release(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    manager = manager_of(path)
    lease = await manager.try_claim(session)
    assert lease is not None

    async def meddle(say: Say) -> None:
        stranger = manager_of(path)
        forged = lease.model_copy(update={"owner": "someone"})
        say(str(await stranger.release(forged)))
        try:
            await stranger.renew(forged)
        except SessionFenced:
            say("fenced")
        say(str(await stranger.try_claim(session)))

    ended = Child(meddle).end()
    await manager.append_message(session, "user", "still mine", lease=lease)
    await manager._db.close()

    assert ended == (0, ["False", "fenced", "None"])


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
async def test_d05_leases_do_not_follow_the_wall_clock(
    tmp_path: Path, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    long, short = await made(path, 2)
    manager = manager_of(path)
    held, brief = await manager.try_claim(long, ttl=60), await manager.try_claim(short, ttl=0.2)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)

    early = await manager.try_claim(long), await manager.try_claim(short)
    await asyncio.sleep(0.25)
    late = await manager.try_claim(long), await manager.try_claim(short)
    await manager._db.close()

    assert held is not None
    assert brief is not None
    assert early == (None, None)
    assert late[0] is None
    assert late[1] is not None


async def test_d05_a_lease_from_before_a_restart_of_the_machine_is_over(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    manager = manager_of(path)
    await manager.try_claim(session, ttl=60)
    # the clock starts again with the machine: what was granted in its future was granted before
    await manager._db.write(
        lambda tx: tx.run("UPDATE sessions SET lease_from = lease_from + 1e6, lease_until = lease_until + 1e6")
    )
    again = await manager.try_claim(session)
    await manager._db.close()

    assert again is not None


@pytest.mark.torture
async def test_d06_eight_processes_write_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    shared, *own = await made(path, 9)
    each = 40 * TORTURE

    async def write(session: str, say: Say) -> None:
        manager = manager_of(path)
        longest = 0.0
        for number in range(each):
            begin = time.monotonic()
            await manager.append_message(shared if number % 2 else session, "user", str(number))
            longest = max(longest, time.monotonic() - begin)
        await manager._db.close()
        say(str(longest))

    children = [Child(functools.partial(write, session)) for session in own]
    ended = [child.end() for child in children]

    assert [code for code, _ in ended] == [0] * 8
    assert max(float(lines[0]) for _, lines in ended) < connections.WRITE_PATIENCE
    assert rows(path, "SELECT COUNT(*) FROM messages") == [(8 * each,)]
    assert rows(path, "SELECT MIN(seq), MAX(seq), COUNT(*) FROM events WHERE session_id = ?", shared) == [
        (1, 4 * each, 4 * each)
    ]


async def test_d06_a_lock_that_is_never_let_go_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_PATIENCE", 0.1)
    path = tmp_path / "x.db"
    (session,) = await made(path)
    selfish = sqlite3.connect(path, isolation_level=None)
    selfish.execute("BEGIN IMMEDIATE")
    manager = manager_of(path)

    with pytest.raises(SessionBusy, match="locked by someone else for too long"):
        await manager.append_message(session, "user", "x")
    selfish.execute("ROLLBACK")
    selfish.close()
    await manager.append_message(session, "user", "now")
    said = await manager.messages(session)
    await manager._db.close()

    assert said == [Message(role="user", content="now")]


FULL = """
import asyncio, os, sys
from toolgate.sessions import Database, SessionManager, StoreError
from toolgate.settings import SessionSettings

async def main():
    disk = sys.argv[1]
    db = Database(f"sqlite:///{disk}/x.db")
    await db.migrate()
    manager = SessionManager(db, SessionSettings())
    session = (await manager.create()).id
    await manager.append_message(session, "user", "before")
    filler = os.open(f"{disk}/filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(filler, bytes(4096)):
            pass
    except OSError:
        os.close(filler)
    try:
        await manager.append_message(session, "user", "x" * 500_000)
    except StoreError as error:
        print(error)
    print([message.content for message in await manager.messages(session)])
    os.unlink(f"{disk}/filler")
    await manager.append_message(session, "user", "after")
    print([message.content for message in await manager.messages(session)])
    await db.close()

asyncio.run(main())
"""


def test_d07_a_full_disk_is_an_error_and_passes(tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("a small disk needs bubblewrap: apt-get install bubblewrap")
    full = tmp_path / "full"
    full.mkdir()
    disk = [bwrap, "--dev-bind", "/", "/", "--size", str(2 << 20), "--tmpfs", str(full)]
    here = Path(__file__).parents[2]
    done = subprocess.run(
        [*disk, "--chdir", "/", sys.executable, "-c", FULL, str(full)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(here / "src")},
        timeout=60,
    )

    assert done.stdout.splitlines() == [
        f"The database {full}/x.db cannot grow: the disk is full. Nothing was written. Free some space and try again; "
        "nothing has to be restarted.",
        "['before']",
        "['before', 'after']",
    ], done.stderr


async def test_d07_a_limit_on_file_sizes_is_an_error_and_passes(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)

    async def limited(say: Say) -> None:
        import resource

        manager = manager_of(path)
        await manager.append_message(session, "user", "before")
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
        try:
            await manager.append_message(session, "user", "x" * 400_000)
        except StoreError:
            say("refused")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        await manager.append_message(session, "user", "after")
        say(str([message.content for message in await manager.messages(session)]))

    assert Child(limited).end() == (0, ["refused", "['before', 'after']"])


def _start(path: Path) -> str:
    """What starting says, and what the mode and a write say afterwards."""

    async def start() -> str:
        manager = manager_of(path)
        said = []
        for attempt in (manager._db.migrate, lambda: manager.append_message("s", "user", "x")):
            try:
                await attempt()
            except StoreError as error:
                said.append(str(error))
        mode = await manager.get_mode("s")
        await manager._db.close()
        assert mode is ToolMode.chat_safe
        assert len(said) == 2, said
        return said[0]

    return asyncio.run(start())


def test_d08_a_file_that_cannot_be_written_is_a_clear_failure(public_path: Path) -> None:
    base = public_path / "data"
    path = base / "x.db"
    asyncio.run(made(path))
    before = path.read_bytes()
    path.chmod(0o444)
    base.chmod(0o555)

    said = run_as(NOBODY, lambda: _start(path))
    base.chmod(0o755)

    assert said.startswith(f"The database {path} cannot be ")
    assert "TOOLGATE_DATABASE_URL" in said or "permissions" in said or "may read and write" in said
    assert path.read_bytes() == before


def test_d08_a_directory_that_cannot_be_written_is_a_clear_failure(public_path: Path) -> None:
    base = public_path / "data"
    base.mkdir()
    base.chmod(0o555)

    said = run_as(NOBODY, lambda: _start(base / "x.db"))
    base.chmod(0o755)

    assert said == (
        f"The database {base}/x.db cannot be made: Permission denied. Make its directory writable for this user, "
        "or set TOOLGATE_DATABASE_URL to another place."
    )
    assert list(base.iterdir()) == []


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "wrong magic": lambda image: b"not a database!!" + image[16:],
    "zero length": lambda image: b"",
    "truncated": lambda image: image[: len(image) // 2],
    "truncated in a page": lambda image: image[:-100],
    "without its last byte": lambda image: image[:-1],
    "without its last page": lambda image: image[:-4096],
    "flipped in the header": lambda image: _flipped(image, 16),
    "flipped in the schema": lambda image: _flipped(image, 100),
    "flipped in a page": lambda image: _flipped(image, 4096),
    "flipped in another": lambda image: _flipped(image, 4096 * 3 + 3),
    "text": lambda image: b"hello\n" * 1000,
}


def _flipped(image: bytes, at: int) -> bytes:
    return image[:at] + bytes([image[at] ^ 0xFF]) + image[at + 1 :]


@pytest.mark.parametrize("damage", DAMAGES)
def test_d09_a_damaged_file_is_refused_and_kept(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.db"
    asyncio.run(made(path))
    broken = DAMAGES[damage](path.read_bytes())
    path.write_bytes(broken)

    said = _start(path)

    assert str(path) in said
    assert "backup" in said
    assert path.read_bytes() == broken


@pytest.mark.parametrize("back", [False, True])
async def test_d09_a_file_that_is_removed_or_replaced_in_use_is_not_written_to(tmp_path: Path, back: bool) -> None:
    path, kept = tmp_path / "x.db", tmp_path / "kept.db"
    (session,) = await made(path)
    manager = manager_of(path)
    await manager.append_message(session, "user", "before")
    await manager._db.close()
    shutil.copy(path, kept)
    manager = manager_of(path)
    await manager.append_message(session, "user", "in use")
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        name.unlink(missing_ok=True)
    if back:
        shutil.copy(kept, path)
    with pytest.raises(StoreError, match="removed or replaced while it was in use"):
        await manager.append_message(session, "user", "lost?")
    if back:
        await manager.append_message(session, "user", "after")
        assert [said.content for said in await manager.messages(session)] == ["before", "after"]
    else:
        with pytest.raises(StoreError, match="cannot be opened"):
            await manager.append_message(session, "user", "lost?")
        assert await manager.get_mode(session) is ToolMode.chat_safe
    await manager._db.close()


def _as_directory(path: Path) -> None:
    path.mkdir()


def _as_pipe(path: Path) -> None:
    os.mkfifo(path)


def _as_link_to_nowhere(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "x.db")


@pytest.mark.parametrize("make", [_as_directory, _as_pipe, _as_link_to_nowhere])
def test_d08_what_is_no_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "x.db")

    said = _start(tmp_path / "x.db")

    assert str(tmp_path / "x.db") in said
    assert "TOOLGATE_DATABASE_URL" in said
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db"]


@pytest.mark.parametrize(
    "address", ["sqlite:////tmp/a\0b.db", "sqlite:////tmp/a\ud800.db", "postgresql://\0", "mysql://x"]
)
def test_d08_an_address_that_makes_no_sense_is_refused(address: str) -> None:
    with pytest.raises(StoreError, match="Set TOOLGATE_DATABASE_URL"):
        Database(address)


async def test_d09_a_large_file_is_checked_while_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHECKED_AT_ONCE", 0)
    path = tmp_path / "x.db"
    (session,) = await made(path)
    events = rows(path, "SELECT rootpage FROM sqlite_master WHERE name = 'approvals'")[0][0]
    path.write_bytes(_flipped(path.read_bytes(), 4096 * (events - 1)))
    manager = manager_of(path)
    await manager._db.migrate()

    async with asyncio.timeout(10):
        while await manager.get_mode(session) and not manager._db.driver._broken:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
    with pytest.raises(StoreError, match="is damaged"):
        await manager.append_message(session, "user", "x")
    await manager._db.close()


def _revision(path: Path) -> tuple[str, list[str]]:
    """The revision and the names of the tables."""
    names = sorted(row[0] for row in rows(path, "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"))
    return rows(path, "SELECT version_num FROM alembic_version")[0][0], names


def _at_first_revision(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in [files.VERSION_TABLE, *statements(REVISIONS[0], "sqlite")]:
        connection.execute(statement)
    connection.execute("INSERT INTO alembic_version VALUES (?)", (REVISIONS[0],))
    connection.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('s', 'chat_safe', 1, 1)")
    connection.commit()
    connection.close()


def _killed_at(path: Path, statement: int) -> bool:
    """Migrate in a process that dies before its n-th statement; whether it died."""

    async def migrate(say: Say) -> None:
        left = statement

        def count(sql: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        real = sqlite3.connect

        def counted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = real(*args, **kwargs)
            connection.set_trace_callback(count)
            return connection

        sqlite3.connect = counted  # type: ignore[assignment]
        await Database(f"sqlite:///{path}").migrate()

    code, _ = Child(migrate).end()
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_d10_a_killed_migration_leaves_the_old_schema_or_the_new(tmp_path: Path) -> None:
    import toolgate.sessions.migrate  # noqa: F401 - so that the children need not load it

    complete = tmp_path / "complete.db"
    asyncio.run(made(complete))
    new = _revision(complete)
    old_file = tmp_path / "old.db"
    _at_first_revision(old_file)
    old = _revision(old_file)
    path = tmp_path / "x.db"
    died, statement = True, 0
    seen = set()
    while died:
        statement += 1
        if not path.exists() or _revision(path) == new:
            path.unlink(missing_ok=True)
            shutil.copy(old_file, path)
        died = _killed_at(path, statement)
        assert _revision(path) in (old, new)
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]
        seen.add(_revision(path)[0])

    assert statement > 10
    assert seen == {REVISIONS[0], HEAD}
    assert rows(path, "SELECT id, mode FROM sessions") == [("s", "chat_safe")]


def test_d10_a_killed_beginning_leaves_nothing_or_everything(tmp_path: Path) -> None:
    complete = tmp_path / "complete.db"
    asyncio.run(made(complete))
    died, statement = True, 0
    while died:
        statement += 1
        path = tmp_path / str(statement) / "x.db"
        died = _killed_at(path, statement)
        assert not path.exists() or _revision(path) == _revision(complete)

    assert statement > len(statements(HEAD, "sqlite"))
    assert _revision(path) == _revision(complete)


def test_d10_many_may_begin_at_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.db"

    async def begin(say: Say) -> None:
        manager = manager_of(path)
        await manager._db.migrate()
        await manager.create()
        await manager._db.close()

    assert [child.end() for child in [Child(begin) for _ in range(8)]] == [(0, [])] * 8
    assert rows(path, "SELECT COUNT(*) FROM sessions") == [(8,)]
    assert [entry.name for entry in path.parent.iterdir() if entry.name.endswith(".new")] == []


async def test_d11_a_crash_between_call_and_result_is_closed_as_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)

    async def crash(say: Say) -> None:
        manager = manager_of(path)
        lease = await manager.try_claim(session, ttl=3600)
        assert lease is not None
        turn = await manager.start_turn(lease, "remove it")
        calls = [ToolCall(id=name, name="Bash", arguments="{}") for name in ("1", "2")]
        await manager.append_message(session, "assistant", "", lease=lease, turn_id=turn.id, tool_calls=calls)
        record = CallRecord(kind="started", session_id=session, call_id="1", tool_name="Bash")
        await manager.recorder(lease, turn.id).record(record)
        os.kill(os.getpid(), signal.SIGKILL)

    assert Child(crash).end()[0] == -signal.SIGKILL
    manager = manager_of(path)
    before = await manager.messages(session)
    lease = await manager.try_claim(session)
    assert lease is not None
    await manager.start_turn(lease, "and now?")
    after = await manager.messages(session)
    calls = {call.call_id: call.state for call in await manager.calls(session)}
    turns = [turn.status for turn in await manager.turns(session)]
    await manager._db.close()

    assert [(message.role, message.tool_call_id, message.content) for message in before[2:]] == [
        ("tool", "1", NO_RESULT),
        ("tool", "2", NO_RESULT),
    ]
    assert after == [*before, Message(role="user", content="and now?")]
    assert calls == {"1": "unknown", "2": "finished"}
    assert turns == ["interrupted", "running"]


async def test_d12_two_turns_of_one_session_never_interleave(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    (session,) = await made(path)
    managers = [manager_of(path) for _ in range(2)]

    async def turn(manager: SessionManager, name: str) -> bool:
        lease = await manager.try_claim(session)
        if lease is None:
            return False
        started = await manager.start_turn(lease, name)
        for _ in range(5):
            await manager.append_message(session, "assistant", name, lease=lease, turn_id=started.id)
        await manager.finish_turn(lease, started.id, "done")
        return await manager.release(lease)

    ran = await asyncio.gather(*(turn(managers[number % 2], str(number)) for number in range(20)))
    said = [message.content for message in await managers[0].messages(session)]
    for manager in managers:
        await manager._db.close()

    groups = [name for name, _ in itertools.groupby(said)]
    assert sorted(groups, key=int) == [str(number) for number, did in enumerate(ran) if did]
    assert said == [name for name in groups for _ in range(6)]
    assert False in ran
