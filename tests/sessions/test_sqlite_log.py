"""SQLite's own log when the database is opened: damage is said, what a crash leaves is not."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.support.databases import PAGE, killed_writer
from toolgate.sessions import Database, SessionManager, sqlite_log
from toolgate.settings import SessionSettings


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, str]:
    """A database whose writer was killed after twenty messages, and the session."""
    path = tmp_path / "a.db"
    return path, killed_writer(path)


async def opened(path: Path, session: str) -> tuple[str, int]:
    """What is said about the log, and how many messages there are."""
    db = Database(f"sqlite:///{path}")
    await db.migrate()
    messages = await SessionManager(db, SessionSettings()).messages(session)
    await db.close()
    return db.driver.lost, len(messages)  # type: ignore[attr-defined]  # it is SQLite


async def test_what_a_killed_writer_leaves_is_no_damage(killed: tuple[Path, str]) -> None:
    assert await opened(*killed) == ("", 20)
    assert [name for name in os.listdir(killed[0].parent) if "damaged" in name] == []


@pytest.mark.parametrize("index", ["with", "without"])
@pytest.mark.parametrize(
    "where", [32 + 10 * PAGE + 500, 32 + 10 * PAGE + 9, 32 + 10 * PAGE + 17], ids=["page", "salt", "sum"]
)
async def test_a_flipped_byte_in_the_log_is_said_and_a_copy_is_kept(
    killed: tuple[Path, str], where: int, index: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, session = killed
    if index == "without":
        os.unlink(f"{path}-shm")  # as after a power cut
    log = Path(f"{path}-wal")
    content = bytearray(log.read_bytes())
    content[where] ^= 0x40
    log.write_bytes(content)
    lost, messages = await opened(path, session)
    assert ("damaged after frame" in lost, messages < 20) == (True, True)
    assert "sqlite_log_damaged" in caplog.text
    copies = [name for name in os.listdir(path.parent) if name.endswith(".damaged")]
    assert [(path.parent / name).read_bytes() for name in copies] == [bytes(content)]
    assert (path.parent / copies[0]).stat().st_mode & 0o777 == 0o600


async def test_a_damaged_header_is_said(killed: tuple[Path, str]) -> None:
    path, session = killed
    log = Path(f"{path}-wal")
    log.write_bytes(b"no" + log.read_bytes()[2:])
    lost, messages = await opened(path, session)
    [copy] = [name for name in os.listdir(path.parent) if name.endswith(".damaged")]
    assert (lost, messages) == (f"its header is damaged. A copy was kept: {path.parent / copy}", 0)


async def test_a_log_that_is_gone_or_cut_is_said_where_its_index_shows_it(killed: tuple[Path, str]) -> None:
    path, session = killed
    shutil.copytree(path.parent, path.parent / "cut")
    os.truncate(path.parent / "cut" / "a.db-wal", 32 + 12 * PAGE)
    assert "damaged after frame" in (await opened(path.parent / "cut" / "a.db", session))[0]
    os.unlink(f"{path}-wal")
    assert (await opened(path, session))[0].startswith("it is missing")


async def test_a_torn_end_is_no_damage(killed: tuple[Path, str]) -> None:
    """The last transaction, which was not confirmed, is incomplete: a power cut does that."""
    path, session = killed
    os.unlink(f"{path}-shm")
    length = os.stat(f"{path}-wal").st_size
    os.truncate(f"{path}-wal", length - 1000)
    assert await opened(path, session) == ("", 19)


async def test_frames_of_an_earlier_generation_are_no_damage(tmp_path: Path) -> None:
    """After a checkpoint SQLite writes its log from the beginning again, over what is there."""
    path = tmp_path / "a.db"
    db = Database(f"sqlite:///{path}")
    await db.migrate()
    store = SessionManager(db, SessionSettings())
    session = await store.create()
    for number in range(20):
        await store.append_message(session.id, "user", f"{number} " + "x" * 3000)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    await store.append_message(session.id, "user", "the last one")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("a.db", "a.db-wal"):
        shutil.copy(tmp_path / name, copy / name)
    await db.close()
    assert await opened(copy / "a.db", session.id) == ("", 21)


def test_a_log_that_another_process_removes_meanwhile_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "a.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = wal")
    other.execute("CREATE TABLE t (x)")
    read = sqlite_log._read

    def read_then_close(name: str, limit: int) -> bytes:
        found = read(name, limit)
        other.close()  # the last one copies the log into the file and removes it
        return found

    monkeypatch.setattr(sqlite_log, "_read", read_then_close)

    assert os.path.exists(f"{path}-wal")
    assert sqlite_log.log_state(path) is None
    assert not os.path.exists(f"{path}-wal")
