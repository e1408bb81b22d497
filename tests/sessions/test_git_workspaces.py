"""Clones of sessions that move between two workers, each with a clone of the repository and a disk of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.process.test_git_clone import git, repository
from toolgate.errors import WorkspaceError
from toolgate.sessions import Database, Lease, SessionManager
from toolgate.sessions import git_workspaces as module
from toolgate.sessions.git_workspaces import GitWorkspaces
from toolgate.sessions.workspaces import SnapshotWorkspaces
from toolgate.settings import SessionSettings

MAX_BYTES = 1_000_000


class Machines:
    """Two workers, and the sessions that they share."""

    def __init__(self, db: Database, base: Path) -> None:
        self.db = db
        self.base = base
        self._sessions = SessionManager(db, SessionSettings())
        origin = repository(base / "origin")
        for name in ("first", "second"):
            git(base, "clone", "--quiet", str(origin), str(base / f"root-{name}"))

    def worker(self, name: str) -> GitWorkspaces:
        return GitWorkspaces(self.db, str(self.base / f"root-{name}"), str(self.base / f"disk-{name}"), MAX_BYTES)

    async def session(self) -> str:
        return (await self._sessions.create()).id

    async def lease(self, session_id: str) -> Lease:
        lease = await self._sessions.try_claim(session_id)
        assert lease is not None
        return lease

    async def turn(self, worker: SnapshotWorkspaces, session_id: str, name: str, text: str) -> Path:
        """A turn that writes one file; returns the directory."""
        lease = await self.lease(session_id)
        place = Path(await worker.restore(lease))
        (place / name).write_text(text)
        await worker.save(session_id)
        await worker.release(lease, ended=True)
        await self._sessions.release(lease)
        return place


@pytest.fixture
async def machines(postgres_url: str, tmp_path: Path) -> AsyncIterator[Machines]:
    db = Database(postgres_url)
    yield Machines(db, tmp_path)
    await db.close()


async def test_files_move_there_and_back(machines: Machines) -> None:
    session, first, second = await machines.session(), machines.worker("first"), machines.worker("second")
    here = await machines.turn(first, session, "a.txt", "from the first\n")
    there = await machines.turn(second, session, "b.txt", "from the second\n")
    again = await machines.turn(first, session, "c.txt", "back\n")

    assert again == here != there
    assert (there / "a.txt").read_text() == "from the first\n"
    assert (here / "b.txt").read_text() == "from the second\n"
    assert git(here, "log", "--format=%s") == "second\nfirst"
    assert sorted(git(here, "status", "--short").split()) == ["??", "??", "M", "a.txt", "b.txt", "c.txt"]


async def test_a_session_begins_with_what_is_committed_and_sees_nothing_of_another(machines: Machines) -> None:
    (machines.base / "root-first" / "a.txt").write_text("not committed\n")
    worker = machines.worker("first")
    one = await machines.turn(worker, await machines.session(), "mine.txt", "mine\n")
    other = await machines.turn(worker, await machines.session(), "other.txt", "other\n")

    assert (one / "a.txt").read_text() == "two\n"
    assert not (other / "mine.txt").exists()
    assert not (machines.base / "root-first" / "mine.txt").exists()


async def test_a_directory_whose_origin_was_forgotten_is_made_anew(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KEPT", 1)
    worker, session = machines.worker("first"), await machines.session()
    await machines.turn(worker, session, "a.txt", "kept\n")
    await machines.turn(worker, await machines.session(), "a.txt", "of another\n")
    forgotten = not worker.is_known(session)
    again = await machines.turn(worker, session, "b.txt", "more\n")

    assert forgotten
    assert (again / "a.txt").read_text() == "kept\n"


async def test_a_worker_with_snapshots_refuses_a_clone_and_the_other_way_round_works(machines: Machines) -> None:
    session, whole = await machines.session(), await machines.session()
    snapshots = SnapshotWorkspaces(
        machines.db, str(machines.base / "root-first"), str(machines.base / "disk-snapshots"), MAX_BYTES
    )
    await machines.turn(machines.worker("first"), session, "a.txt", "kept\n")
    await machines.turn(snapshots, whole, "b.txt", "whole\n")
    lease = await machines.lease(session)
    with pytest.raises(WorkspaceError, match="set up all alike"):
        await snapshots.restore(lease)
    there = await machines.turn(machines.worker("second"), whole, "c.txt", "cloned\n")

    assert (there / "b.txt").read_text() == "whole\n"
