"""Answers that do not end, and databases that are not ours."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import toolgate
from redteam.attack import Broken, Escaped, attack
from toolgate.agent import AgentLoop, TextChunk, TurnDone, TurnFailed
from toolgate.models import ModelItem, ModelRequest
from toolgate.sessions import Database, InMemorySessions, SessionManager, StoreError
from toolgate.settings import SessionSettings

if TYPE_CHECKING:
    from redteam.arena import Arena

_MIB = 1024 * 1024


class _Endless:
    """A model whose answer has no end."""

    name = "endless"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """The same piece for ever."""
        while True:
            yield "x" * 1000


@attack("A model's answer that never ends is cut and kept.", layers=("off",))
async def an_answer_without_an_end(_: Arena) -> None:
    sessions = InMemorySessions()
    session = await sessions.create()
    loop = AgentLoop(_Endless(), toolgate.builtin_registry(), sessions)
    shown, last = 0, None
    async with asyncio.timeout(60):
        async for event in loop.handle_message(session.id, "go"):
            shown += len(event.content) if isinstance(event, TextChunk) else 0
            last = event
    kept = (await sessions.messages(session.id))[-1].content
    await loop.aclose()
    await sessions.close()
    if not isinstance(last, TurnDone | TurnFailed) or not 0 < shown < 2 * _MIB or len(kept) != shown:
        raise Escaped(f"the turn ended with {last!r} after {shown} characters, {len(kept)} of them kept")


@attack("A database of another program is refused without a changed byte.", layers=("off",))
async def a_database_of_another_program(arena: Arena) -> None:
    path = arena.root / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = path.read_bytes()
    db = Database(f"sqlite:///{path}")
    try:
        await db.migrate()
    except StoreError:
        pass
    else:
        raise Escaped("another program's database was taken for ours")
    finally:
        await db.close()
    if path.read_bytes() != before or any(Path(f"{path}{end}").exists() for end in ("-wal", "-shm")):
        raise Escaped("another program's database was changed before it was refused")


@attack("NUL in a message is kept.", layers=("off",))
async def nul_in_a_message(arena: Arena) -> None:
    db = Database(f"sqlite:///{arena.root}/ours.db")
    await db.migrate()
    sessions = SessionManager(db, SessionSettings())
    session = await sessions.create()
    await sessions.append_message(session.id, "user", "a\0b")
    kept = [message.content for message in await sessions.messages(session.id)]
    await db.close()
    if kept != ["a\0b"]:
        raise Broken(f"the message became {kept}")
