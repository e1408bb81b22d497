"""Workers that share no directory: the files of a session move with it, and nobody sees those of another session."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, Process, cluster, until
from tests.process.test_git_clone import git, repository
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


def _worker(machines: Cluster, name: str, kind: str = "snapshot", **environment: str) -> Process:
    """A worker with a root and a directory for sessions that no other worker has."""
    root = machines.base / f"root-{name}"
    if kind == "git":
        git(machines.base, "clone", "--quiet", str(_origin(machines)), str(root))
    else:
        root.mkdir()
        (root / "given.txt").write_text("given\n")
    settings = {
        "TOOLGATE_DISTRIBUTED_WORKSPACES": kind,
        "TOOLGATE_DISTRIBUTED_WORKSPACE_DIR": str(machines.base / f"disk-{name}"),
    }
    return machines.start(["-m", "tests.distributed.program", f"main={root}"], name, **{**settings, **environment})


def _origin(machines: Cluster) -> Path:
    """The repository that the roots of all workers are clones of."""
    origin = machines.base / "origin"
    if not origin.exists():
        repository(origin)
        (origin / "given.txt").write_text("given\n")
        (origin / "big.bin").write_bytes(os.urandom(1_000_000))
        git(origin, "add", ".")
        git(origin, "commit", "--quiet", "--message=given")
    return origin


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


@pytest.mark.parametrize("kind", ["snapshot", "git"])
async def test_a_session_whose_worker_is_killed_goes_on_at_another_with_its_files(apart: Cluster, kind: str) -> None:
    first = _worker(apart, "first", kind)
    await apart.ready(first)
    session = await _session(apart)
    steps = [
        [_write("n.txt", "one\n")],
        [["look", {"key": "looking", "until": "seen"}]],
        [["read_file", {"path": "n.txt"}]],
        [["edit_file", {"path": "n.txt", "old_string": "one", "new_string": "two"}]],
    ]
    turn = await apart.begin(session, *steps, "Moved.")
    await until(lambda: apart.effects("looks"), what="the look", logs=apart.logs)
    await apart.kill(first)
    apart.let("seen")
    await apart.ready(_worker(apart, "second", kind))
    ended = await apart.ended(turn.id)
    again = await apart.ended((await apart.begin(session, [["read_file", {"path": "given.txt"}]], "Still.")).id)
    answers = await _answers(apart, session)
    workspace = Workspace(_place(apart, "second", session))
    undone = [one.path for one in undo(workspace, "session")]
    workspace.close()

    assert (ended.status, ended.attempt, again.status) == ("done", 2, "done"), (ended, answers)
    assert "one" in answers[2]
    assert "given" in answers[-1]
    assert (_place(apart, "first", session) / "n.txt").read_text() == "one\n"
    assert undone == ["n.txt", "n.txt"], "the journal has moved along"
    assert not (_place(apart, "second", session) / "n.txt").exists()


@pytest.mark.parametrize("kind", ["snapshot", "git"])
async def test_two_users_of_one_worker_never_see_each_others_files(apart: Cluster, kind: str) -> None:
    await apart.ready(_worker(apart, "only", kind))
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
    await apart.kill(first)
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


async def test_commits_the_index_and_files_of_a_clone_move_and_its_configuration_is_never_run(apart: Cluster) -> None:
    first = _worker(apart, "first", "git")
    await apart.ready(first)
    session, mark = await _session(apart), apart.base / "mark"
    steps = [[["look", {"key": "looking", "until": "seen"}]], [_write("b.txt", "untracked\n")]]
    turn = await apart.begin(session, *steps, "Stored.")
    await until(lambda: apart.effects("looks"), what="the look", logs=apart.logs)
    _work(_place(apart, "first", session), mark)
    apart.let("seen")
    await apart.ended(turn.id)
    await apart.kill(first)
    await apart.ready(_worker(apart, "second", "git"))
    ended = await apart.ended((await apart.begin(session, [["read_file", {"path": "a.txt"}]], "Moved.")).id)
    there = _place(apart, "second", session)
    row = await apart.db.read(lambda tx: tx.row("SELECT SUM(length(data)) FROM blobs"))
    ran = mark.exists()
    os.truncate(there / ".git" / "config", 0)  # from here on a person looks, with git
    (there / ".gitattributes").unlink()

    assert ended.status == "done"
    assert not ran, "something of the session's configuration was run"
    assert git(there, "log", "--format=%s") == "of the session\ngiven\nsecond\nfirst"
    status = [line.split() for line in git(there, "status", "--short").splitlines() if ".toolgate" not in line]
    assert sorted(status) == [["??", "b.txt"], ["??", "post-checkout"], ["A", "staged.txt"], ["D", "sub/run.sh"]]
    assert (there / "a.txt").read_text() == "committed\n"
    assert git(there, "fsck", "--full") == ""
    assert row is not None
    assert row[0] < 500_000, "what is in the first commit was stored"


def _work(place: Path, mark: Path) -> None:
    """What commands of a session may do in their clone, and what they may leave for somebody who runs git there."""
    (place / "a.txt").write_text("committed\n")
    git(place, "commit", "--quiet", "--all", "--message=of the session")
    (place / "staged.txt").write_text("staged\n")
    git(place, "add", "staged.txt")
    (place / "sub" / "run.sh").unlink()
    (place / ".gitattributes").write_text("* filter=evil\n")
    with (place / ".git" / "config").open("a") as file:
        file.write(f'[core]\n\tfsmonitor = touch {mark}\n\thooksPath = .\n[filter "evil"]\n\tclean = touch {mark}\n')
        file.write(f"\tsmudge = touch {mark}\n")
    (place / "post-checkout").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (place / "post-checkout").chmod(0o755)


async def test_a_worker_whose_repository_lacks_the_commit_fails_the_turn_with_what_to_do(apart: Cluster) -> None:
    first = _worker(apart, "first", "git")
    await apart.ready(first)
    session = await _session(apart)
    git(apart.base / "root-first", "commit", "--quiet", "--allow-empty", "--message=only here")
    await apart.ended((await apart.begin(session, [_write("a.txt", "kept\n")], "Written.")).id)
    await apart.kill(first)
    await apart.ready(_worker(apart, "second", "git"))
    ended = await apart.ended((await apart.begin(session, [["read_file", {"path": "a.txt"}]], "Not reached.")).id)
    git(apart.base / "root-second", "fetch", "--quiet", str(apart.base / "root-first"))
    again = await apart.ended((await apart.begin(session, [["read_file", {"path": "a.txt"}]], "Now.")).id)

    assert ended.status == "failed"
    assert "fetch it there, as on the other workers" in ended.error
    assert "Nothing was overwritten." in ended.error
    assert again.status == "done"
    assert (_place(apart, "second", session) / "a.txt").read_text() == "kept\n"


async def test_a_root_that_is_no_repository_is_refused_when_the_worker_starts(apart: Cluster) -> None:
    settings = {"TOOLGATE_DISTRIBUTED_WORKSPACES": "git"}
    words = ["-m", "toolgate", "worker", "--workspace", f"main={apart.workspace()}"]
    worker = apart.start(words, "worker", TOOLGATE_MODEL_PROVIDER="openai", TOOLGATE_MODEL_API_KEY="x", **settings)
    await until(lambda: worker.popen.poll() is not None, what="the refusal", logs=apart.logs)

    assert worker.popen.returncode == 2
    assert "is not the top of a git repository" in worker.output


@pytest.mark.parametrize("kind", ["snapshot", "git"])
async def test_whole_outputs_and_what_was_read_move_along(apart: Cluster, kind: str) -> None:
    first = _worker(apart, "first", kind)
    await apart.ready(first)
    session = await _session(apart)
    looks = [["read_file", {"path": "given.txt"}], ["Bash", {"command": "seq 100000"}]]
    before = await apart.ended((await apart.begin(session, looks, "Read.")).id)
    [output] = set(re.findall(r"tool-output/[\w-]+\.log", (await _answers(apart, session))[1]))
    await apart.kill(first)
    await apart.ready(_worker(apart, "second", kind))
    steps = [
        [["read_file", {"path": output, "start_line": 99_999}]],
        [["look", {"key": "looking", "until": "seen"}]],
        [_write("given.txt", "from the model\n")],
    ]
    turn = await apart.begin(session, *steps, "Moved.")
    await until(lambda: apart.effects("looks"), what="the look", logs=apart.logs)
    given = _place(apart, "second", session) / "given.txt"
    given.write_text("from a person\n")
    apart.let("seen")
    after = await apart.ended(turn.id)
    answers = await _answers(apart, session)

    assert (before.status, after.status) == ("done", "done"), answers
    assert answers[2].splitlines()[-1].split() == ["100000", "100000"], answers[2]
    assert "changed since it was read" in answers[4], answers[4]
    assert given.read_text() == "from a person\n"
