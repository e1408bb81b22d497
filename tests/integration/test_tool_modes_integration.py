"""Seed 003, section 5.3: modes from the database to the wire."""

from pathlib import Path

from toolgate import ToolMode
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings


async def test_get_mode_reads_from_db(tmp_path: Path) -> None:
    db = Database(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")
    await db.migrate()
    session = await SessionManager(db, SessionSettings()).create()
    await db.close()
    reopened = Database(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")
    mode = await SessionManager(reopened, SessionSettings()).get_mode(session.id)
    await reopened.close()

    assert (session.mode, mode) == (ToolMode.chat_safe, ToolMode.chat_safe)
