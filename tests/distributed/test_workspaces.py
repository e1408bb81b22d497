"""Workers that share no directory: the files of a session move with it, and nobody sees those of another session."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, Process, cluster, until
from toolgate.protocol.approval import Approval
from toolgate.sessions import SessionManager
from toolgate.settings import SessionSettings
from toolgate.workspace import Workspace
from toolgate.workspace.undo import undo

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]


@pytest.fixture
async def apart(own_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(own_url, tmp_path, OPTIONS, SESSION_CODING_ENABLED="true") as made:
        made.sessions = SessionManager(made.db, SessionSettings(coding_enabled=True))
        yield made


def _worker(machines: Cluster, name: str, **environment: str) -> Process:
    """A worker with a root and a directory for sessions that no other worker has."""
    root = machines.base / f"root-{name}"
    root.mkdir()
    (root / "given.txt").write_text("given\n")
    settings = {
        "TOOLGATE_DISTRIBUTED_WORKSPACES": "snapshot",
        "TOOLGATE_DISTRIBUTED_WORKSPACE_DIR": str(machines.base / f"disk-{name}"),
    }
    return machines.start(["-m", "tests.distributed.program", f"main={root}"], name, **{**settings, **environment})


async def _session(machines: Cluster, user: str = "ada") -> str:
    made = await machines.sessions.create("coding", user=user, project="main", approval_mode="accept_edits")
    return made.id


def _place(machines: Cluster, name: str, session: str) -> Path:
    [place] = (machines.base / f"disk-{name}").glob(f"*/{session}")
    return place


async def _answers(machines: Cluster, session: str) -> list[str]:
    return [message.content for message in await machines.sessions.messages(session) if message.role == "tool"]


def _write(path: str, content: str) -> list[Any]:
    return ["write_file", {"path": path, "content": content}]


async def test_a_session_whose_worker_is_killed_goes_on_at_another_with_its_files(apart: Cluster) -> None:
    first = _worker(apart, "first")
    await apart.ready(first)
    session = await _session(apart)
    steps = [
        [_write("a.txt", "one\n")],
        [["look", {"key": "looking", "seconds": 3}]],
        [["read_file", {"path": "a.txt"}]],
        [["edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"}]],
    ]
    turn = await apart.begin(session, *steps, "Moved.")
    await until(lambda: apart.effects("looks"), what="the look", logs=apart.logs)
    first.kill()
    await apart.ready(_worker(apart, "second"))
    ended = await apart.ended(turn.id)
    again = await apart.ended((await apart.begin(session, [["read_file", {"path": "given.txt"}]], "Still.")).id)
    answers = await _answers(apart, session)
    workspace = Workspace(_place(apart, "second", session))
    undone = [one.path for one in undo(workspace, "session")]
    workspace.close()

    assert (ended.status, ended.attempt, again.status) == ("done", 2, "done"), (ended, answers)
    assert "one" in answers[2]
    assert "given" in answers[-1]
    assert (_place(apart, "first", session) / "a.txt").read_text() == "one\n"
    assert undone == ["a.txt", "a.txt"], "the journal has moved along"
    assert not (_place(apart, "second", session) / "a.txt").exists()


async def test_two_users_of_one_worker_never_see_each_others_files(apart: Cluster) -> None:
    await apart.ready(_worker(apart, "only"))
    ada, bob = await _session(apart, "ada"), await _session(apart, "bob")
    await apart.ended((await apart.begin(ada, [_write("secret.txt", "mine\n")], "Written.")).id)
    looks = [
        ["ls", {"path": "."}],
        ["read_file", {"path": "secret.txt"}],
        ["read_file", {"path": f"../{ada}/secret.txt"}],
        ["read_file", {"path": str(_place(apart, "only", ada) / "secret.txt")}],
        ["grep", {"pattern": "mine"}],
    ]
    ended = await apart.ended((await apart.begin(bob, looks, "Nothing.")).id)
    answers = await _answers(apart, bob)

    assert ended.status == "done"
    assert "given.txt" in answers[0]
    assert [answer for answer in answers if "mine\n" in answer or "1:mine" in answer] == []
    assert "secret.txt" not in answers[0]


async def test_a_command_cannot_read_the_files_of_another_session_either(apart: Cluster) -> None:
    home = apart.base / "home"
    home.mkdir()
    own = {"HOME": str(home), "TOOLGATE_DISTRIBUTED_WORKSPACE_DIR": str(home / "workspaces")}
    await apart.ready(_worker(apart, "only", **own))
    ada, bob = await _session(apart, "ada"), await _session(apart, "bob")
    await apart.ended((await apart.begin(ada, [_write("secret.txt", "m1ne\n")], "Written.")).id)
    [place] = home.glob(f"workspaces/*/{ada}/secret.txt")
    turn = await apart.begin(bob, [["Bash", {"command": f"cat {place}; cat given.txt"}]], "Nothing.")

    async def over() -> bool:
        for question in await apart.sessions.approvals(bob):
            if question.state == "pending":
                await apart.sessions.decide(question.id, Approval(allowed=True))
        found = await apart.sessions.turn(turn.id)
        return found is not None and found.status != "running"

    await until(over, what="the end", logs=apart.logs)
    answers = await _answers(apart, bob)

    assert "given" in answers[0], answers
    assert "m1ne" not in answers[0]


async def test_files_that_cannot_be_restored_fail_the_turn_with_what_to_do_and_overwrite_nothing(
    apart: Cluster,
) -> None:
    first = _worker(apart, "first")
    await apart.ready(first)
    session = await _session(apart)
    await apart.ended((await apart.begin(session, [_write("a.txt", "kept\n")], "Written.")).id)
    first.kill()
    await apart.db.write(lambda tx: tx.run("DELETE FROM blobs"))
    await apart.ready(_worker(apart, "second"))
    ended = await apart.ended((await apart.begin(session, [["read_file", {"path": "a.txt"}]], "Not reached.")).id)

    assert ended.status == "failed"
    assert "could not be restored (a part of them is missing in the database). Nothing was overwritten." in ended.error
    assert "send the message again" in ended.error
    assert (_place(apart, "first", session) / "a.txt").read_text() == "kept\n"


async def test_files_that_are_too_large_to_move_fail_the_turn_with_what_to_do(apart: Cluster) -> None:
    await apart.ready(_worker(apart, "only", TOOLGATE_DISTRIBUTED_WORKSPACE_BYTES="40000"))
    session = await _session(apart)
    ended = await apart.ended((await apart.begin(session, [_write("big.txt", "x" * 50_000)], "Not reached.")).id)

    assert ended.status == "failed"
    assert "more than 40,000 bytes" in ended.error
    assert "TOOLGATE_DISTRIBUTED_WORKSPACE_BYTES" in ended.error
