"""The mode of a session: whatever is not certainly something else is chat_safe, and it says so."""

import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import coding
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings


async def _stored(db: Database, session_id: str, value: Any) -> None:
    await db.write(lambda tx: tx.run("UPDATE sessions SET mode = ?2 WHERE id = ?1", session_id, value))


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_m05_a_plain_mode_warns_of_nothing(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    manager = SessionManager(db, SessionSettings())
    session = await manager.create()

    assert await manager.get_mode(session.id) is ToolMode.chat_safe
    assert _warnings(caplog) == []


@pytest.mark.parametrize("value", [None, "", "admin", "CHAT_SAFE", " chat_safe", "chat_safe\n", "7", "coding "])
async def test_m05_what_is_no_mode_is_chat_safe(db: Database, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    manager = SessionManager(db, coding())
    session = await manager.create("coding")
    await _stored(db, session.id, value)

    mode = await manager.get_mode(session.id)

    assert mode is ToolMode.chat_safe
    assert _warnings(caplog) == [f"invalid_mode_value session_id={session.id!r} value={value!r} used='chat_safe'"]


@pytest.mark.parametrize("value", [7, 1.5, b"coding", b"\xff"])
async def test_m05_sqlite_holds_anything_and_it_is_chat_safe(
    tmp_path: Path, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, coding())
    session = await manager.create()
    await _stored(db, session.id, value)

    mode = await manager.get_mode(session.id)
    await db.close()

    shown = repr(value) if isinstance(value, bytes) else repr(str(value))  # the column makes text of numbers
    assert mode is ToolMode.chat_safe
    assert _warnings(caplog) == [f"invalid_mode_value session_id={session.id!r} value={shown} used='chat_safe'"]


async def test_m05_text_that_is_no_text_is_chat_safe(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, coding())
    session = await manager.create()
    await db.write(lambda tx: tx.run("UPDATE sessions SET mode = CAST(x'636fff' AS TEXT)"))

    mode = await manager.get_mode(session.id)
    await db.close()

    assert mode is ToolMode.chat_safe
    assert [warning.split()[0] for warning in _warnings(caplog)] == ["mode_read_error"]


async def test_coding_is_downgraded_while_it_is_not_enabled(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    session = await SessionManager(db, coding()).create("coding")

    mode = await SessionManager(db, SessionSettings()).get_mode(session.id)

    assert mode is ToolMode.chat_safe
    assert _warnings(caplog) == [
        f"mode_downgraded session_id={session.id!r} value='coding' used='chat_safe' "
        "reason='M1.5 only supports chat_safe: coding is not enabled here'"
    ]


async def test_coding_is_coding_once_it_is_enabled(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    manager = SessionManager(db, coding())
    session = await manager.create(ToolMode.coding)

    assert (session.mode, await manager.get_mode(session.id)) == (ToolMode.coding, ToolMode.coding)
    assert (await SessionManager(db, SessionSettings()).get(session.id)).mode is ToolMode.chat_safe
    assert _warnings(caplog) == []


@pytest.mark.parametrize("session_id", ["nobody", "", "\ud800", "x' OR '1'='1", "\0", None, 7, b"x", ["x"]])
async def test_an_unknown_session_is_chat_safe(db: Database, session_id: Any, caplog: pytest.LogCaptureFixture) -> None:
    manager = SessionManager(db, coding())
    await manager.create("coding")

    assert await manager.get_mode(session_id) is ToolMode.chat_safe
    assert [warning.split()[0] for warning in _warnings(caplog)] == ["mode_read_error"]
    assert f"session_id={session_id!r}" in _warnings(caplog)[0]


async def test_m06_a_missing_table_is_chat_safe(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, coding())
    session = await manager.create("coding")
    await db.write(lambda tx: tx.run("DROP TABLE sessions"))

    mode = await manager.get_mode(session.id)
    await db.close()

    assert mode is ToolMode.chat_safe
    assert [warning.split()[0] for warning in _warnings(caplog)] == ["mode_read_error"]


async def test_m06_a_locked_database_is_chat_safe(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolgate.sessions.connections.READ_TIMEOUT", 0.05)
    db = Database(f"sqlite:///{tmp_path}/x.db")
    await db.migrate()
    manager = SessionManager(db, coding())
    session = await manager.create("coding")
    await db.close()
    selfish = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    selfish.execute("PRAGMA locking_mode = EXCLUSIVE")
    selfish.execute("BEGIN EXCLUSIVE")
    later = Database(f"sqlite:///{tmp_path}/x.db")

    mode = await SessionManager(later, coding()).get_mode(session.id)
    await later.close()
    selfish.close()

    assert mode is ToolMode.chat_safe
    assert [warning.split()[0] for warning in _warnings(caplog)] == ["mode_read_error"]


async def test_m06_a_closed_database_is_chat_safe(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    manager = SessionManager(db, coding())
    session = await manager.create("coding")
    await db.close()

    assert await manager.get_mode(session.id) is ToolMode.chat_safe
    assert [warning.split()[0] for warning in _warnings(caplog)] == ["mode_read_error"]


async def test_m06_an_unreachable_server_is_chat_safe(caplog: pytest.LogCaptureFixture) -> None:
    db = Database("postgresql://nobody:hunter2@127.0.0.1:1/none")

    mode = await SessionManager(db, coding()).get_mode("x")
    await db.close()

    assert mode is ToolMode.chat_safe
    assert [warning.split()[0] for warning in _warnings(caplog)] == ["mode_read_error"]
    assert "hunter2" not in caplog.text
