"""How often the database is used for one approved call. The counts do not depend on time."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import call, gateway, is_done, is_type, settings_for
from toolgate.agent import assembly
from toolgate.gateway.service import Service
from toolgate.sessions.driver import Unit
from toolgate.sessions.sqlite import SqliteFile
from toolgate.testing import ScriptedModel

MAX_READS = 12
MAX_WRITES = 8


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the transactions of the SQLite driver; what runs on a timer is switched off."""
    counts: Counter[str] = Counter()
    read, write = SqliteFile.read, SqliteFile.write

    def counted_read(driver: SqliteFile, unit: Unit[Any]) -> Awaitable[Any]:
        counts["reads"] += 1
        return read(driver, unit)

    def counted_write(driver: SqliteFile, unit: Unit[Any]) -> Awaitable[Any]:
        counts["writes"] += 1
        return write(driver, unit)

    async def no_watch(_: Service) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(SqliteFile, "read", counted_read)
    monkeypatch.setattr(SqliteFile, "write", counted_write)
    monkeypatch.setattr(SqliteFile, "polls", None)
    monkeypatch.setattr(Service, "watch", no_watch)
    monkeypatch.setattr(assembly, "_POLL_SECONDS", 3600.0)
    return counts


@pytest.mark.parametrize("turns_before", [0, 1])
async def test_an_approved_bash_edit_uses_the_database_sparingly(
    tmp_path: Path, used: Counter[str], turns_before: int
) -> None:
    edit = call("Bash", json.dumps({"command": "edit app.py old new"}))
    model = ScriptedModel([*["Hello."] * turns_before, [edit], "Done."])
    settings = settings_for(tmp_path)
    file = tmp_path / "root/app.py"
    file.write_text("name = 'old'\n")
    async with gateway(settings, model) as running, running.client() as client:
        session = await client.session("coding")
        for _ in range(turns_before):
            await client.turn(session)
        while running.service.running:  # the end of a turn is in the log before it is over
            await asyncio.sleep(0.01)
        used.clear()
        await client.send("chat.send", session_id=session, content="Edit it.")
        request = (await client.until(is_type("approval_request")))[-1]["data"]
        await client.send("approval.respond", id=request["id"], allowed=True)
        await client.until(is_done)
        assert file.read_text() == "name = 'new'\n"
        assert used["reads"] <= MAX_READS
        assert used["writes"] <= MAX_WRITES
