"""Databases that are full, locked, damaged or not writable are a clear failure."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.databases import coding, rows
from tests.support.forks import Child, Say
from tests.support.privileges import run_as
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import (
    Database,
    Message,
    SessionBusy,
    SessionManager,
    StoreError,
    connections,
    files,
)

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))

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


async def test_d06_a_lock_that_is_never_let_go_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_TIMEOUT", 0.1)
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

    async with asyncio.timeout(60):
        while await manager.get_mode(session) and not manager._db.driver._broken:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
    with pytest.raises(StoreError, match="is damaged"):
        await manager.append_message(session, "user", "x")
    await manager._db.close()
