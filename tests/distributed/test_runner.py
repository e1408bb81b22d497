"""What a session takes along to another worker: what was allowed, its shell, what it knows of files."""

import json
import signal
from typing import Any

import pytest

from tests.distributed.cluster import Cluster, until
from tests.support.pictures import png
from toolgate.protocol.approval import Approval
from toolgate.protocol.content import ImageContent
from toolgate.protocol.modes import ApprovalMode
from toolgate.sessions import ApprovalRow, SessionManager, Turn
from toolgate.settings import SessionSettings

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

CODING = {"SESSION_CODING_ENABLED": "true"}


async def coding(machines: Cluster) -> str:
    """A session that may do everything."""
    sessions = SessionManager(machines.db, SessionSettings(coding_enabled=True))
    return (await sessions.create("coding", user="ada", project="main")).id


def bash(command: str, **more: Any) -> list[Any]:
    return ["Bash", {"command": command, **more}]


async def questions(machines: Cluster, session: str) -> list[ApprovalRow]:
    return await machines.sessions.approvals(session)


async def allow(machines: Cluster, session: str, *, number: int = 1) -> None:
    """Answer a question once it is asked: yes, and for the rest of the session."""

    async def asked() -> bool:
        return len(await questions(machines, session)) == number

    await until(asked, what="a question", logs=machines.logs)
    row = (await questions(machines, session))[-1]
    await machines.sessions.decide(row.id, Approval(allowed=True, remember=True))


async def outputs(machines: Cluster, session: str, turn: Turn) -> list[str]:
    """What the model read of its calls in one turn."""
    said = [event for event in await machines.events(session) if event.turn_id == turn.id and event.kind == "message"]
    return [event.payload["content"] for event in said if event.payload["role"] == "tool"]


async def moved(machines: Cluster, old: Any) -> None:
    """End a worker in good order, and start another one."""
    old.signal(signal.SIGTERM)
    old.popen.wait(60)
    await machines.ready(machines.worker(**CODING))


async def test_what_was_allowed_for_the_session_holds_on_another_worker(machines: Cluster) -> None:
    first = machines.worker(**CODING)
    await machines.ready(first)
    session, other = await coding(machines), await coding(machines)
    calls = [[bash("rm -f x")], [["risky", {"key": "a"}]]]
    turn = await machines.begin(session, *calls, "Done.")
    await allow(machines, session)
    await allow(machines, session, number=2)
    assert (await machines.ended(turn.id)).status == "done"
    await moved(machines, first)
    turn = await machines.begin(session, *calls, [bash("rm -f y")], "Done.")
    await allow(machines, session, number=3)  # about the one that was never asked about
    assert (await machines.ended(turn.id)).status == "done"
    rows = await questions(machines, session)
    assert ["rm -f y" in row.detail for row in rows] == [False, False, True]
    assert machines.effects() == ["a", "a"]
    turn = await machines.begin(other, *calls, "Done.")
    await allow(machines, other)
    await allow(machines, other, number=2)
    assert (await machines.ended(turn.id)).status == "done"


async def test_the_shell_and_what_is_known_of_files_come_along(machines: Cluster) -> None:
    first = machines.worker(**CODING)
    root = machines.workspace()
    (root / "sub").mkdir()
    for name in ("kept", "changed"):
        (root / f"{name}.txt").write_text("one\ntwo\n")
    await machines.ready(first)
    session = await coding(machines)
    reads = [["read_file", {"path": f"{name}.txt"}] for name in ("kept", "changed")]
    turn = await machines.begin(session, [bash("cd sub; export A=1")], reads, [bash("true", background=True)], "Done.")
    assert (await machines.ended(turn.id)).status == "done"
    assert "job-1" in (await outputs(machines, session, turn))[-1]
    await moved(machines, first)
    (root / "changed.txt").write_text("one\nTWO\n")
    edits = [["edit_file", {"path": f"{n}.txt", "old_string": "one", "new_string": "1"}] for n in ("changed", "kept")]
    look = [bash("pwd; echo $A"), bash("jobs output job-1"), bash("true", background=True)]
    turn = await machines.begin(session, *([one] for one in (*look, *edits)), "Done.")
    await allow(machines, session)  # about the file that is as it was; nobody is asked about the other
    assert (await machines.ended(turn.id)).status == "done"
    shell, gone, job, conflict, edited = await outputs(machines, session, turn)
    assert f"{root}/sub\n1\n" in shell
    assert "There is no job 'job-1'" in gone
    assert "start its command again" in gone
    assert "job-2" in job
    assert "has changed since it was read" in conflict
    assert "Edited" in edited
    assert (root / "changed.txt").read_text() == "one\nTWO\n"


async def test_after_a_crash_in_the_middle_the_shell_is_where_the_last_command_left_it(machines: Cluster) -> None:
    workers = [machines.worker(**CODING), machines.worker(**CODING)]
    (machines.workspace() / "sub").mkdir()
    await machines.ready(*workers)
    session = await coding(machines)
    steps = [[bash("cd sub; export A=1")], [["note", {"key": "long", "seconds": 60}]], [bash("pwd; echo $A")], "Done."]
    turn = await machines.begin(session, *steps)
    victim = await machines.player(turn.id)

    async def long_call() -> bool:
        return any(
            call.tool_name == "note" and call.state == "started" for call in await machines.sessions.calls(session)
        )

    await until(long_call, what="the second call", logs=machines.logs)
    await machines.kill(victim)
    assert (await machines.ended(turn.id)).attempt == 2
    assert f"{machines.workspace()}/sub\n1\n" in (await outputs(machines, session, turn))[-1]


async def test_a_sub_agent_that_is_taken_over_is_not_asked_again_and_its_parent_is(machines: Cluster) -> None:
    workers = [machines.worker(**CODING), machines.worker(**CODING)]
    await machines.ready(*workers)
    session = await coding(machines)
    risky = [["risky", {"key": "x"}]]
    child = [risky, [["look", {"key": "long", "seconds": 8}]], risky, "Child."]
    task = [["task", {"agent": "general", "prompt": json.dumps(child), "description": "c"}]]
    turn = await machines.begin(session, task, risky, "Done.")
    await allow(machines, session)
    await until(lambda: machines.effects("looks"), what="the child's second call", logs=machines.logs)
    children = await machines.sessions.list(user="ada", children=True)
    (own,) = [known.id for known in children if known.parent_id == session]
    (played,) = await machines.sessions.turns(own)
    await machines.kill(await machines.player(played.id))
    await allow(machines, session, number=2)
    assert (await machines.ended(turn.id)).status == "done"
    assert [row.agent for row in await questions(machines, session)] == ["general", ""]
    assert machines.effects() == ["x", "x", "x"]


async def test_approval_modes_and_rewinding_hold_on_workers(machines: Cluster) -> None:
    await machines.ready(machines.worker(**CODING))
    sessions = SessionManager(machines.db, SessionSettings(coding_enabled=True))
    session = (await sessions.create("coding", user="ada", project="main", approval_mode="accept_edits")).id
    write = ["write_file", {"path": "a.txt", "content": "one\n"}]
    turn = await machines.begin(session, [write], "Written.")
    assert (await machines.ended(turn.id)).status == "done"
    assert (machines.workspace() / "a.txt").read_text() == "one\n"
    assert await questions(machines, session) == []

    await sessions.switch_approval_mode(session, ApprovalMode.plan)
    turn = await machines.begin(session, [["write_file", {"path": "b.txt", "content": "two\n"}]], "Denied.")
    assert (await machines.ended(turn.id)).status == "done"
    assert not (machines.workspace() / "b.txt").exists()
    assert "plan" in (await outputs(machines, session, turn))[0]

    second = [event.seq for event in await machines.events(session) if event.payload.get("role") == "user"][1]
    await sessions.rewind(session, second)
    turn = await machines.begin(session, "Anew.")
    assert (await machines.ended(turn.id)).status == "done"
    said = [message.content for message in await sessions.history(session) if message.role == "assistant"]
    assert [text for text in said if text] == ["Written.", "Anew."]


async def test_a_picture_of_the_person_reaches_the_model_of_a_worker(machines: Cluster) -> None:
    await machines.ready(machines.worker())
    session = await machines.session()
    picture = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="shot.png")
    await machines.sessions.add_picture(session, picture)
    turn = await machines.runner.submit(session, '["pictures"]', images=[picture.stored])
    assert (await machines.ended(turn.id)).status == "done"
    assert (await machines.sessions.history(session))[-1].content == f"shot.png={picture.sha256}"
