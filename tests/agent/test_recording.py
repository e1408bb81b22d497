"""What a turn leaves in the log: enough to show the session again, in as few commits as it takes."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.agent.kit import OPEN, Stage, call
from tests.kit import ProbeTool
from toolgate import ToolMode
from toolgate.agent import AgentDefinition, AgentEvent, ToolCallInfo, TurnFailed
from toolgate.errors import RequestRepeated, SessionBusy, StoreError
from toolgate.models import ModelRequest, ModelUsage
from toolgate.protocol.approval import ApprovalRequest
from toolgate.protocol.ids import uuid7
from toolgate.protocol.record import CallRecord
from toolgate.sessions import Database, Event, Lease, SessionManager
from toolgate.sessions.writer import Writer
from toolgate.testing import AutoApprover
from toolgate.tools.function import tool
from toolgate.workspace import Workspace

CODING = frozenset({ToolMode.coding})

pytestmark = pytest.mark.usefixtures("everywhere")


@tool(name="probe", modes=CODING, read_only=True)
async def probe(n: int = 0) -> int:
    """Answers."""
    return n


async def log_of(stage: Stage) -> list[Event]:
    return await stage.sessions.events(stage.id)


def of_kind(log: list[Event], kind: str) -> list[dict[str, Any]]:
    return [event.payload for event in log if event.kind == kind]


class Commits:
    """A store in a file that counts its commits."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        self._folder = folder
        commit = Writer._commit

        def counted(writer: Writer, jobs: list[Any]) -> None:
            self.made += 1
            commit(writer, jobs)

        monkeypatch.setattr(Writer, "_commit", counted)

    async def of(self, turns: list[Any]) -> int:
        """How many a turn takes."""
        db = Database(f"sqlite:///{self._folder}/{len(turns)}-{len(turns[0])}.db")
        await db.migrate()
        stage = await Stage.set(turns, probe, sessions=SessionManager(db, OPEN))
        self.made = 0
        await stage.say()
        await stage.loop.aclose()
        await db.close()
        return self.made


async def test_a_tool_round_is_two_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = Commits(tmp_path, monkeypatch)
    one = await commits.of([[call("probe")], "Done."])
    four = await commits.of([*([call("probe")] for _ in range(4)), "Done."])
    assert four - one == 3 * 2


async def test_calls_side_by_side_are_two_commits_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = Commits(tmp_path, monkeypatch)
    one = await commits.of([[call("probe")], "Done."])
    five = await commits.of([[call("probe", {"n": n}, str(n)) for n in range(5)], "Done."])
    assert five == one


async def test_nobody_is_told_of_a_call_before_it_is_durable(tmp_path: Path) -> None:
    path = f"{tmp_path}/told.db"
    db = Database(f"sqlite:///{path}")
    await db.migrate()
    stage = await Stage.set([["Look.", call("probe")], "Done."], probe, sessions=SessionManager(db, OPEN))
    stored: list[tuple[str, str]] = []

    def look(event: AgentEvent) -> None:
        if isinstance(event, ToolCallInfo):
            with contextlib.closing(sqlite3.connect(path)) as other:
                stored.extend(other.execute("SELECT call_id, state FROM tool_calls"))

    stream = stage.loop.handle_message(stage.id, "Hello")
    stream.tap = look
    async for _ in stream:
        pass
    assert stored == [("c1", "started")]
    await stage.close()
    await db.close()


async def test_a_person_is_asked_about_a_call_that_is_in_the_log() -> None:
    turns = [["I ask.", call("probe")], "Done."]
    stage = await Stage.set(turns, ProbeTool(requires_permission=True), approver=AutoApprover(allow=True))
    told = [type(event).__name__ for event in await stage.say()]
    kinds = await stage.kinds()
    assert kinds.index("call_proposed") < kinds.index("approval_request") < kinds.index("call_started")
    assert told.index("ToolCallInfo") < told.index("ApprovalRequested")
    await stage.close()


async def test_a_message_is_stored_while_its_call_waits_for_something() -> None:
    going = asyncio.Event()

    class Waits(ProbeTool):
        async def prepare(self, params: Any, context: Any) -> None:
            await going.wait()

    stage = await Stage.set([["Look.", call("probe")], "Done."], Waits())
    stream = stage.loop.handle_message(stage.id, "Hello")
    assert [type(await anext(stream)).__name__ for _ in range(2)] == ["TextChunk", "ToolCallInfo"]
    log = await log_of(stage)
    assert [event.kind for event in log][-2:] == ["message", "call_proposed"]
    going.set()
    assert type([event async for event in stream][-1]).__name__ == "TurnDone"
    await stage.close()


async def test_a_message_whose_start_could_not_be_stored_is_stored_with_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = await Stage.set([["Look.", call("probe"), ModelUsage(input_tokens=7, output_tokens=5)], "Done."], probe)
    append, failed = stage.sessions.append, list[object]()

    async def full_once(lease: Lease, entries: Any, **more: Any) -> None:
        if not failed:
            failed.append(entries)
            raise StoreError("The disk is full.")
        await append(lease, entries, **more)

    monkeypatch.setattr(stage.sessions, "append", full_once)
    await stage.say()
    assert [message["role"] for message in await stage.transcript()] == ["user", "assistant", "tool", "assistant"]
    assert "could not be recorded" in (await stage.transcript())[2]["content"]
    (turn,) = await stage.sessions.turns(stage.id)
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (7, 5)
    await stage.close()


async def test_a_message_with_a_call_that_cannot_be_stored_is_kept_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await Stage.set([["Look.", call("probe")], "Done."], probe)
    append = stage.sessions.append

    async def full(*_: Any, **__: Any) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(stage.sessions, "append", full)
    events = await stage.say()
    assert [type(event).__name__ for event in events] == ["TextChunk", "TurnFailed"]
    monkeypatch.setattr(stage.sessions, "append", append)
    await stage.loop.aclose()
    assert [(said["role"], said["content"]) for said in await stage.transcript()][:2] == [
        ("user", "Hello"),
        ("assistant", "Look."),
    ]
    await stage.close()


async def test_a_call_in_the_log_is_what_was_asked_and_how_it_ended() -> None:
    stage = await Stage.set([["Look.", call("probe", {"n": 3})], "3."], probe)
    await stage.say()
    log = await log_of(stage)
    assert of_kind(log, "call_proposed") == [{"call_id": "c1", "tool_name": "probe", "arguments": {"n": 3}}]
    (ended,) = of_kind(log, "call_finished")
    assert ended.pop("time_ms") >= 0
    assert ended == {
        "call_id": "c1",
        "tool_name": "probe",
        "status": "success",
        "code": None,
        "text": "probe returned a result.",
        "message": "probe returned a result.",
        "data": {"result": 3},
        "extras": {},
    }
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert all(event.created_at > 1_700_000_000 for event in log)
    await stage.close()


async def test_arguments_that_do_not_parse_are_in_the_log_as_they_came() -> None:
    stage = await Stage.set([[call("probe", '{"n": ')], "Sorry."], probe)
    await stage.say()
    log = await log_of(stage)
    assert of_kind(log, "call_proposed")[0]["arguments"] == '{"n": '
    assert of_kind(log, "call_finished")[0]["extras"]["failureCategory"] == "invalid_usage"
    await stage.close()


async def test_a_denial_in_the_log_has_its_six_fields() -> None:
    stage = await Stage.set([[call("read_file", {"path": "x"})], "Then not."], mode=ToolMode.chat_safe)
    events = await stage.say()
    (ended,) = of_kind(await log_of(stage), "call_finished")
    assert ended["denied"] == events[1].model_dump()
    assert (ended["status"], ended["code"]) == ("error", "MODE_DENIED")
    await stage.close()


async def test_an_agent_command_in_the_log_says_what_ran(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    workspace = Workspace(tmp_path)
    stage = await Stage.set([[call("Bash", {"command": "read a.txt"})], "Read."], workspace=workspace)
    await stage.say()
    log = await log_of(stage)
    assert of_kind(log, "call_proposed")[0]["tool_name"] == "Bash"
    (ended,) = of_kind(log, "call_finished")
    assert (ended["tool_name"], ended["ran"]) == ("Bash", "read_file")
    await stage.close()
    workspace.close()


async def test_a_question_in_the_log_has_everything_that_a_person_needs(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    approver = AutoApprover(allow=True)
    stage = await Stage.set(
        [[call("write_file", {"path": "a.txt", "content": "one\n"})], "Written."],
        workspace=workspace,
        approver=approver,
        agent={"approval_timeout": 60},
    )
    await stage.say()
    log = await log_of(stage)
    (asked,) = of_kind(log, "approval_request")
    deadline = asked["deadline"]
    assert asked == approver.requests[0].model_dump(mode="json")
    at = next(event.created_at for event in log if event.kind == "approval_request")
    assert 0 < deadline - at <= 61
    assert of_kind(log, "approval_resolved") == [{"id": asked["id"], "allowed": True, "message": ""}]
    await stage.close()
    workspace.close()


async def test_two_calls_with_one_id_have_an_end_each() -> None:
    stage = await Stage.set([[call("probe", {"n": 1}), call("probe", {"n": 2})], "Both."], probe)
    await stage.say()
    log = await log_of(stage)
    assert [ended["data"]["result"] for ended in of_kind(log, "call_finished")] == [1, 2]
    assert len(of_kind(log, "call_started")) == 2
    assert [row.state for row in await stage.sessions.calls(stage.id)] == ["finished", "finished"]
    await stage.close()


async def test_the_end_of_a_turn_says_how_and_what_it_used() -> None:
    stage = await Stage.set(["Hello."])
    await stage.say()
    (ended,) = of_kind(await log_of(stage), "turn_finished")
    assert (ended["status"], ended["code"], ended["message"]) == ("done", "", "")
    assert set(ended["usage"]) == {"input_tokens", "output_tokens"}
    await stage.close()


async def test_a_request_is_in_the_log_and_starts_one_turn_only() -> None:
    stage = await Stage.set(["One.", "Two."])
    first = [event async for event in stage.loop.handle_message(stage.id, "Hi", request_id="r1")]
    before = await log_of(stage)
    with pytest.raises(RequestRepeated, match=r"before \(done\)") as caught:
        await anext(stage.loop.handle_message(stage.id, "Hi", request_id="r1"))
    assert caught.value.turn_id == first[-1].turn_id  # type: ignore[union-attr]
    assert await log_of(stage) == before
    assert of_kind(before, "turn_started") == [{"request_id": "r1", "parent_id": None}]
    others = [event async for event in stage.loop.handle_message(stage.id, "Hi", request_id="r2")]
    assert not isinstance(others[-1], TurnFailed)
    await stage.close()


async def test_a_request_that_comes_again_while_its_turn_runs_is_repeated_and_not_busy() -> None:
    going = asyncio.Event()

    @tool(name="wait", modes=CODING)
    async def wait() -> str:
        """Waits."""
        await going.wait()
        return "over"

    stage = await Stage.set([[call("wait")], "Done."], wait)
    stream = stage.loop.handle_message(stage.id, "Hi", request_id="r1")
    await anext(stream)
    with pytest.raises(RequestRepeated, match=r"before \(running\)"):
        await anext(stage.loop.handle_message(stage.id, "Hi", request_id="r1"))
    with pytest.raises(SessionBusy):
        await anext(stage.loop.handle_message(stage.id, "Hi", request_id="r2"))
    going.set()
    assert type([event async for event in stream][-1]).__name__ == "TurnDone"
    await stage.close()


async def test_children_work_side_by_side_on_every_store() -> None:
    together = asyncio.Barrier(4)

    @tool(name="meet", modes=CODING, read_only=True)
    async def meet() -> str:
        """Waits for the others."""
        await together.wait()
        return "met"

    class SubAgentDependencies:
        """Parent and children, told apart by what they are told to be."""

        async def stream(self, request: ModelRequest) -> Any:
            answered = sum(message["role"] == "assistant" for message in request.messages)
            if request.messages[0]["content"].startswith("You help."):
                yield call("meet", id="m") if not answered else "helped"
            elif not answered:
                for number in range(4):
                    yield call("task", {"agent": "helper", "prompt": "Help."}, id=f"t{number}")
            else:
                yield "Thanks."

    helper = AgentDefinition(name="helper", description="Helps.", tools=("meet",), prompt="You help.")
    stage = await Stage.set(SubAgentDependencies(), meet, agents=[helper])
    events = await asyncio.wait_for(stage.say(), 30)
    assert type(events[-1]).__name__ == "TurnDone"
    log = await log_of(stage)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    started = of_kind(log, "agent_started")
    assert sorted(said["call_id"] for said in started) == ["t0", "t1", "t2", "t3"]
    for said in started:
        assert (await stage.sessions.messages(said["session_id"]))[-1].content == "helped"
    await stage.close()


async def test_a_crashed_turn_has_an_end_for_every_call_in_the_log() -> None:
    stage = await Stage.set(["I go on."])
    lease = await stage.sessions.try_claim(stage.id, 60)
    assert lease is not None
    turn = await stage.sessions.start_turn(lease, "Do both", request_id="r1")
    calls = [call("probe", id="a"), call("probe", id="b")]
    await stage.sessions.append_message(stage.id, "assistant", "", lease=lease, turn_id=turn.id, tool_calls=calls)
    record = CallRecord(kind="started", session_id=stage.id, call_id="a", tool_name="probe")
    await stage.sessions.recorder(lease, turn.id).record(record)
    await stage.sessions.release(lease)  # as far as the store can tell, its holder is gone

    await stage.say("And?")
    log = await log_of(stage)
    assert [(ended["call_id"], ended["code"], ended["uncertain"]) for ended in of_kind(log, "call_finished")] == [
        ("a", "EXECUTION_ERROR", True),
        ("b", "CANCELLED", False),
    ]
    interrupted = of_kind(log, "turn_finished")[0]
    assert (interrupted["status"], interrupted["code"], interrupted["uncertain"]) == (
        "interrupted",
        "INTERRUPTED",
        ["a"],
    )
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    with pytest.raises(RequestRepeated, match="interrupted"):
        await anext(stage.loop.handle_message(stage.id, "Do both", request_id="r1"))
    await stage.close()


async def test_a_question_that_a_crash_left_open_is_resolved_in_the_log() -> None:
    stage = await Stage.set(["I go on."])
    lease = await stage.sessions.try_claim(stage.id, 60)
    assert lease is not None
    turn = await stage.sessions.start_turn(lease, "Write")
    request = ApprovalRequest(
        id=uuid7(), tool_name="write_file", call_id="a", summary="Write a.txt", detail="+one", fingerprint="f"
    )
    await stage.sessions.ask(lease, request, turn_id=turn.id)
    await stage.sessions.release(lease)
    await stage.say("And?")
    assert of_kind(await log_of(stage), "approval_resolved") == [
        {"id": request.id, "allowed": False, "message": "withdrawn: the turn has ended"}
    ]
    await stage.close()
