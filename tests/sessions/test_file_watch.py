"""A database file that is removed or replaced in use is not written to."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.databases import coding
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import (
    Database,
    SessionManager,
    StoreError,
)

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


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
