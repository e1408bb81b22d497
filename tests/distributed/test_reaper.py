"""Workers remove old outputs, round by round."""

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, until
from toolgate.distributed.reaper import Reaper
from toolgate.sessions.blobs import Blobs

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


async def test_a_worker_removes_what_is_old(machines: Cluster) -> None:
    blobs = Blobs(machines.db)
    await blobs.store("old", "a.log", lambda: iter([b"old"]))
    await machines.db.write(lambda tx: tx.run("UPDATE outputs SET stored_at = stored_at - 86400 * 1.5"))
    await blobs.store("new", "a.log", lambda: iter([b"new"]))
    await machines.ready(machines.worker(TOOL_OUTPUT_RETENTION_DAYS="1"))

    async def gone() -> bool:
        return await machines.db.read(
            lambda tx: tx.rows("SELECT hash FROM blobs GROUP BY hash HAVING COUNT(*) > 0")
        ) == [("11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437",)]

    await until(gone, what="the old one to go", logs=machines.logs)

    assert await machines.db.read(lambda tx: tx.rows("SELECT session_id FROM outputs")) == [("new",)]


async def test_much_that_is_old_is_removed_round_by_round(machines: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.sessions.blobs._AT_ONCE", 1)
    blobs, left = Blobs(machines.db), []
    for number in range(3):
        await blobs.store("old", f"{number}.log", lambda: iter([b"the same"]))
    await machines.db.write(lambda tx: tx.run("UPDATE outputs SET stored_at = 0"))
    reaper = Reaper(machines.db, OPTIONS, None)
    for _ in range(5):
        await reaper.round()
        left.append(len(await machines.db.read(lambda tx: tx.rows("SELECT 1 FROM outputs"))))
    await blobs.store("old", "late.log", lambda: iter([b"late"]))
    await machines.db.write(lambda tx: tx.run("UPDATE outputs SET stored_at = 0"))
    await reaper.round()

    assert left == [2, 1, 0, 0, 0]
    assert await machines.db.read(lambda tx: tx.rows("SELECT reference FROM outputs")) == [("late.log",)]
