"""The loop: what is told, what is kept, in which order."""

import asyncio
import json
from typing import Any

import pytest

from tests.agent.kit import OPEN, Stage, call, settings_of
from tests.kit import ProbeTool, raising, returning
from toolgate import ToolContext, ToolDenied, ToolMode, ToolResponse, Workspace, builtin_registry
from toolgate.agent import (
    AgentEvent,
    AgentLoop,
    ApprovalRequested,
    ApprovalResolved,
    Compacted,
    TextChunk,
    ToolCallInfo,
    ToolOutput,
    ToolResultInfo,
    TurnDone,
    TurnFailed,
)
from toolgate.errors import MessageTooLarge, ModelError, SessionBusy, SessionNotFound
from toolgate.models import ModelStop, ModelUsage, OfflineModel
from toolgate.sessions import InMemorySessions
from toolgate.testing import AutoApprover, FaultyModel, ScriptedModel

SAFE = ToolMode.chat_safe

pytestmark = pytest.mark.usefixtures("everywhere")


def kinds(events: list[AgentEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def asked(events: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in events]


async def test_text_is_streamed_and_stored_as_one_message() -> None:
    stage = await Stage.set([["Hel", "lo", ModelUsage(input_tokens=7, output_tokens=2)]])
    events = await stage.say("Hi")
    assert events[:2] == [TextChunk(content="Hel"), TextChunk(content="lo")]
    assert isinstance(events[2], TurnDone)
    assert (events[2].usage.input_tokens, events[2].usage.output_tokens) == (7, 2)
    assert events[2].context_tokens > 0
    assert await stage.transcript() == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
    ]
    [turn] = await stage.sessions.turns(stage.id)
    assert (turn.status, turn.usage.input_tokens, turn.usage.output_tokens) == ("done", 7, 2)
    await stage.close()


async def test_a_call_is_run_and_its_result_is_told_to_the_model() -> None:
    probe = ProbeTool(returning(ToolResponse.success({"n": 1}, "Probed.")))
    stage = await Stage.set([["Look: ", call("probe")], "Done."], probe)
    events = await stage.say()
    assert kinds(events) == ["TextChunk", "ToolCallInfo", "ToolResultInfo", "TextChunk", "TurnDone"]
    assert events[1] == ToolCallInfo(tool_name="probe", arguments={}, call_id="c1")
    assert isinstance(events[2], ToolResultInfo)
    assert (events[2].call_id, events[2].result.output) == ("c1", 'Probed.\n{"n":1}')
    calls = [{"id": "c1", "type": "function", "function": {"name": "probe", "arguments": "{}"}}]
    assert list(stage.model.requests[1].messages[1:]) == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Look: ", "tool_calls": calls},
        {"role": "tool", "content": 'Probed.\n{"n":1}', "tool_call_id": "c1"},
    ]
    assert (await stage.transcript())[:3] == list(stage.model.requests[1].messages[1:])
    await stage.close()


async def test_everything_is_in_the_store_before_it_is_told() -> None:
    probe = ProbeTool()
    stage = await Stage.set([["a", call("probe")], "b"], probe)
    seen = []
    async for event in stage.loop.handle_message(stage.id, "Hi"):
        log = [entry.payload.get("role", entry.kind) for entry in await stage.sessions.events(stage.id)]
        seen.append((type(event).__name__, log))
    stored = dict(seen)
    assert stored["ToolCallInfo"][:3] == ["turn_started", "user", "assistant"]
    assert stored["ToolResultInfo"][3:8] == ["call_proposed", "decision", "call_started", "call_finished", "tool"]
    assert stored["TurnDone"][-2:] == ["assistant", "turn_finished"]
    await stage.close()


async def test_a_denied_call_is_one_event_one_message_and_the_turn_goes_on() -> None:
    stage = await Stage.set([[call("read_file", {"path": "x"})], "Then not."], mode=SAFE)
    events = await stage.say()
    assert kinds(events) == ["ToolCallInfo", "ToolDenied", "TextChunk", "TurnDone"]
    assert isinstance(events[1], ToolDenied)
    message = (await stage.transcript())[2]
    assert json.loads(message["content"]) == {"ok": False, **events[1].model_dump()}
    assert [row.code for row in await stage.sessions.calls(stage.id)] == ["MODE_DENIED"]
    await stage.close()


async def test_an_unknown_tool_is_a_result_and_no_denial() -> None:
    stage = await Stage.set([[call("write_files", "{broken")], "Oh."], mode=SAFE)
    events = await stage.say()
    assert kinds(events) == ["ToolCallInfo", "ToolResultInfo", "TextChunk", "TurnDone"]
    assert events[0] == ToolCallInfo(tool_name="write_files", arguments="{broken", call_id="c1")
    assert isinstance(events[1], ToolResultInfo)
    assert events[1].result.extras["failureCategory"] == "command_not_found"
    await stage.close()


async def test_the_mode_is_read_once_and_given_to_schema_prompt_and_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await Stage.set([[call("read_file", {"path": "x"})], "."], mode=ToolMode.coding)
    reads = []
    real = stage.sessions.get_mode

    async def counting(session_id: str) -> ToolMode:
        reads.append(session_id)
        return SAFE if reads else await real(session_id)

    monkeypatch.setattr(stage.sessions, "get_mode", counting)
    events = await stage.say()
    assert reads == [stage.id]
    assert "ToolDenied" in kinds(events)
    for request in stage.model.requests:
        assert list(request.tools) == builtin_registry().get_tools_schema(SAFE)
        assert "mode chat_safe" in request.messages[0]["content"]
    await stage.close()


async def test_an_override_acts_at_once_on_schema_and_prompt() -> None:
    registry = builtin_registry()

    async def tighten(params: Any, context: ToolContext) -> ToolResponse:
        registry.set_mode_override("Bash", [])
        return ToolResponse.success({}, "done")

    registry.register(ProbeTool(tighten))
    stage = await Stage.set([[call("probe")], "."], registry=registry)
    await stage.say()
    names = [[tool["function"]["name"] for tool in request.tools] for request in stage.model.requests]
    assert ["Bash" in shown for shown in names] == [True, False]
    assert ["\n- Bash" in request.messages[0]["content"] for request in stage.model.requests] == [True, False]
    await stage.close()


async def test_read_only_calls_run_side_by_side_and_are_answered_in_order() -> None:
    both = asyncio.Barrier(2)

    async def meet(params: Any, context: ToolContext) -> ToolResponse:
        await both.wait()
        return ToolResponse.success({}, "met")

    stage = await Stage.set(
        [[call("one", id="a"), call("two", id="b")], "."],
        ProbeTool(meet, name="one", read_only=True),
        ProbeTool(meet, name="two", read_only=True),
    )
    events = await asyncio.wait_for(stage.say(), 60)
    assert [event.call_id for event in events if isinstance(event, ToolResultInfo)] == ["a", "b"]
    await stage.close()


async def test_writers_run_one_after_another() -> None:
    order: list[str] = []

    async def slow(params: Any, context: ToolContext) -> ToolResponse:
        order.append("begin")
        await asyncio.sleep(0.01)
        order.append("end")
        return ToolResponse.success({}, "done")

    stage = await Stage.set([[call("probe", id="a"), call("probe", id="b")], "."], ProbeTool(slow))
    await stage.say()
    assert order == ["begin", "end", "begin", "end"]
    await stage.close()


async def test_calls_with_the_same_id_or_none_are_all_answered() -> None:
    probe = ProbeTool()
    stage = await Stage.set([[call("probe", id="x"), call("probe", id="x"), call("probe", id="")], "."], probe)
    await stage.say()
    answered = [message["tool_call_id"] for message in await stage.transcript() if message["role"] == "tool"]
    assert answered[:2] == ["x", "x"]
    assert answered[2].startswith("call_")
    assert len(probe.calls) == 3
    assert {row.state for row in await stage.sessions.calls(stage.id)} == {"finished"}
    await stage.close()


async def test_a_tool_that_breaks_is_an_answer() -> None:
    stage = await Stage.set([[call("probe")], "I see."], ProbeTool(raising(RuntimeError("boom"))))
    events = await stage.say()
    assert kinds(events) == ["ToolCallInfo", "ToolResultInfo", "TextChunk", "TurnDone"]
    await stage.close()


async def test_at_most_so_many_rounds_then_a_clear_closing_text() -> None:
    stage = await Stage.set([[call("probe", id=str(n))] for n in range(9)], ProbeTool(), agent={"max_rounds": 3})
    events = await stage.say()
    assert len(stage.model.requests) == 3
    assert kinds(events)[-2:] == ["TextChunk", "TurnDone"]
    assert isinstance(events[-2], TextChunk)
    assert "3 rounds" in events[-2].content
    assert (await stage.transcript())[-1] == {"role": "assistant", "content": events[-2].content}
    await stage.close()


async def test_twenty_five_rounds_by_default() -> None:
    stage = await Stage.set([[call("probe", id=str(n))] for n in range(30)], ProbeTool())
    await stage.say()
    assert len(stage.model.requests) == 25
    await stage.close()


async def test_the_second_message_to_a_busy_session_is_refused() -> None:
    gate = asyncio.Event()
    stage = await Stage.set([["a", gate.wait, "b"], "c"])
    first = stage.loop.handle_message(stage.id, "one")
    assert await anext(first) == TextChunk(content="a")
    with pytest.raises(SessionBusy):
        await stage.say("two")
    gate.set()
    assert kinds([event async for event in first]) == ["TextChunk", "TurnDone"]
    assert kinds(await stage.say("three")) == ["TextChunk", "TurnDone"]
    assert [message["content"] for message in await stage.transcript()] == ["one", "ab", "three", "c"]
    await stage.close()


async def test_what_starts_no_turn_raises_and_leaves_the_session_free() -> None:
    stage = await Stage.set(["ok"])
    with pytest.raises(SessionNotFound):
        await anext(stage.loop.handle_message("nobody", "x"))
    with pytest.raises(MessageTooLarge):
        await stage.say("x" * (1024 * 1024 + 1))
    assert kinds(await stage.say()) == ["TextChunk", "TurnDone"]
    await stage.close()


async def test_leaving_the_iteration_leaves_the_turn_alone() -> None:
    gate = asyncio.Event()
    stage = await Stage.set([["a", gate.wait, call("probe")], "end"], ProbeTool())
    stream = stage.loop.handle_message(stage.id, "Hi")
    async for _ in stream:
        break
    await stream.aclose()
    gate.set()
    await stream.wait()
    assert asked(await stage.transcript()) == ["user", "assistant", "tool", "assistant"]
    assert [turn.status for turn in await stage.sessions.turns(stage.id)] == ["done"]
    await stage.close()


async def test_cancelling_in_the_middle_of_an_answer_keeps_what_was_shown() -> None:
    gate = asyncio.Event()
    stage = await Stage.set([["so far", gate.wait, "never"], "again"])
    stream = stage.loop.handle_message(stage.id, "Hi")
    assert await anext(stream) == TextChunk(content="so far")
    assert await stage.loop.cancel(stage.id)
    assert [event async for event in stream] == [TurnFailed(code="CANCELLED", message="The turn was cancelled.")]
    assert await stage.transcript() == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "so far"},
    ]
    assert [turn.status for turn in await stage.sessions.turns(stage.id)] == ["cancelled"]
    assert kinds(await stage.say()) == ["TextChunk", "TurnDone"]
    await stage.close()


async def test_cancelling_in_the_middle_of_a_call_answers_every_call() -> None:
    running = asyncio.Event()

    async def hang(params: Any, context: ToolContext) -> ToolResponse:
        running.set()
        await asyncio.sleep(600)
        raise AssertionError

    later = ProbeTool(name="later")
    stage = await Stage.set([[call("probe", id="a"), call("later", id="b")], "again"], ProbeTool(hang), later)
    stream = stage.loop.handle_message(stage.id, "Hi")
    assert isinstance(await anext(stream), ToolCallInfo)
    await running.wait()
    assert await stage.loop.cancel(stage.id)
    events = [event async for event in stream]
    assert kinds(events) == ["ToolResultInfo", "ToolCallInfo", "ToolResultInfo", "TurnFailed"]
    results = [event.result for event in events if isinstance(event, ToolResultInfo)]
    assert [result.extras["failureCategory"] for result in results] == ["cancelled", "cancelled"]
    assert later.calls == []
    assert asked(await stage.transcript()) == ["user", "assistant", "tool", "tool"]
    assert [(row.call_id, row.state, row.code) for row in await stage.sessions.calls(stage.id)] == [
        ("a", "finished", "CANCELLED"),
        ("b", "finished", "CANCELLED"),
    ]
    assert kinds(await stage.say()) == ["TextChunk", "TurnDone"]
    await stage.close()


@pytest.mark.parametrize("rounds", range(12))
async def test_cancelling_whoever_iterates_at_any_point_leaves_a_valid_transcript(rounds: int) -> None:
    async def pause(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0)
        return ToolResponse.success({}, "done")

    async def breath() -> None:
        await asyncio.sleep(0)

    turns = [["x", breath, call("probe", id=f"{n}a"), call("probe", id=f"{n}b")] for n in range(4)]
    stage = await Stage.set([*turns, "end"], ProbeTool(pause))

    async def watch() -> None:
        await stage.say()

    task = asyncio.create_task(watch())
    for _ in range(rounds * 3):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    history = await stage.transcript()
    made = [made["id"] for message in history for made in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in history if message["role"] == "tool"] == made
    fresh = AgentLoop(ScriptedModel(["again"]), builtin_registry(), stage.sessions)
    assert kinds([event async for event in fresh.handle_message(stage.id, "Go on")]) == ["TextChunk", "TurnDone"]
    await fresh.aclose()
    await stage.close()


async def test_another_process_may_ask_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.agent.assembly._POLL_SECONDS", 0.01)
    stage = await Stage.set([["a", asyncio.Event().wait]])
    other = AgentLoop(ScriptedModel([]), builtin_registry(), stage.sessions)
    stream = stage.loop.handle_message(stage.id, "Hi")
    await anext(stream)
    assert await other.cancel(stage.id)
    assert [event.code async for event in stream if isinstance(event, TurnFailed)] == ["CANCELLED"]
    assert not await other.cancel(stage.id)
    await stage.close()


async def _held_until(stage: Stage) -> float:
    row = await stage.sessions._db.read(lambda tx: tx.row("SELECT lease_until FROM sessions WHERE id = ?1", stage.id))
    assert row is not None
    return float(row[0])


async def test_the_lease_is_renewed_and_a_lost_one_ends_the_turn() -> None:
    settings = settings_of()
    short = settings.agent.model_copy(update={"lease_seconds": 3.0})
    stage = await Stage.set([["a", asyncio.Event().wait]], settings=settings.model_copy(update={"agent": short}))
    stream = stage.loop.handle_message(stage.id, "Hi")
    await anext(stream)
    first = await _held_until(stage)
    async with asyncio.timeout(60):
        while await _held_until(stage) == first:
            await asyncio.sleep(0.02)
    assert await _held_until(stage) > first
    assert await stage.sessions.try_claim(stage.id) is None
    await stage.sessions._db.write(lambda tx: tx.run("UPDATE sessions SET fence = fence + 1, lease_owner = 'other'"))
    assert [event.code async for event in stream if isinstance(event, TurnFailed)] == ["SESSION_FENCED"]
    await stage.close()


async def test_closing_the_loop_ends_its_turns() -> None:
    stage = await Stage.set([["a", asyncio.Event().wait]])
    stream = stage.loop.handle_message(stage.id, "Hi")
    await anext(stream)
    await stage.loop.aclose()
    assert kinds([event async for event in stream]) == ["TurnFailed"]
    await stage.close()


PASSING = ModelError("MODEL_UNAVAILABLE", "later", retryable=True)


async def test_a_passing_failure_is_tried_again() -> None:
    model = FaultyModel(ScriptedModel(["fine"]), [PASSING, PASSING])
    stage = await Stage.set(model)
    assert kinds(await stage.say()) == ["TextChunk", "TurnDone"]
    assert len(model.requests) == 3
    await stage.close()


async def test_a_failure_that_stays_ends_the_turn_and_frees_the_session() -> None:
    stage = await Stage.set(FaultyModel(ScriptedModel(["ok"]), [PASSING] * 4))
    assert await stage.say() == [TurnFailed(code="MODEL_UNAVAILABLE", message="later")]
    [turn] = await stage.sessions.turns(stage.id)
    assert (turn.status, turn.error) == ("failed", "later")
    assert kinds(await stage.say()) == ["TextChunk", "TurnDone"]
    await stage.close()


async def test_what_cannot_pass_is_not_tried_again() -> None:
    model = FaultyModel(ScriptedModel([]), [ModelError("MODEL_AUTH", "Check OPENAI_API_KEY.")] * 2)
    stage = await Stage.set(model)
    assert await stage.say() == [TurnFailed(code="MODEL_AUTH", message="Check OPENAI_API_KEY.")]
    assert len(model.requests) == 1
    await stage.close()


async def test_a_failure_after_shown_text_is_not_tried_again_and_the_text_is_kept() -> None:
    model = FaultyModel(ScriptedModel([["so far", call("probe")], "so far, again"]), [PASSING], after=2)
    stage = await Stage.set(model, ProbeTool())
    assert kinds(await stage.say()) == ["TextChunk", "TurnFailed"]
    assert len(model.requests) == 1
    assert (await stage.transcript())[-1] == {"role": "assistant", "content": "so far"}
    await stage.close()


async def test_a_client_that_breaks_or_yields_nonsense_fails_the_turn() -> None:
    stage = await Stage.set([[ValueError("oops")], [7]])
    for _ in range(2):
        [event] = await stage.say()
        assert isinstance(event, TurnFailed)
        assert event.code == "MODEL_PROTOCOL"
    await stage.close()


async def test_an_answer_that_was_cut_or_declined_says_so() -> None:
    stage = await Stage.set([["half", ModelStop(reason="length")], [ModelStop(reason="refusal")]])
    assert "output limit" in "".join(event.content for event in await stage.say() if isinstance(event, TextChunk))
    assert "declined" in "".join(event.content for event in await stage.say() if isinstance(event, TextChunk))
    await stage.close()


async def test_a_store_that_fails_ends_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolgate.errors import StoreError

    stage = await Stage.set(["lost"])

    async def full(*_: Any, **__: Any) -> int:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(stage.sessions, "append_message", full)
    events = await stage.say()
    assert events[-1] == TurnFailed(code="STORE_ERROR", message="The disk is full.")
    await stage.close()


async def test_a_person_is_asked_and_what_they_say_is_kept(tmp_path: Any) -> None:
    approver = AutoApprover()
    turns = [[call("write_file", {"path": "a.txt", "content": "x\n"})], "Written."]
    stage = await Stage.set(turns, workspace=Workspace(tmp_path), approver=approver)
    events = await stage.say()
    assert kinds(events) == [
        "ToolCallInfo",
        "ApprovalRequested",
        "ApprovalResolved",
        "ToolResultInfo",
        "TextChunk",
        "TurnDone",
    ]
    assert isinstance(events[1], ApprovalRequested)
    assert events[1].request == approver.requests[0]
    assert events[1].request.session_id == stage.id
    assert events[2] == ApprovalResolved(request_id=approver.requests[0].id, allowed=True, message="")
    assert [row.state for row in await stage.sessions.approvals(stage.id)] == ["allowed"]
    assert (tmp_path / "a.txt").read_text() == "x\n"
    await stage.close()


async def test_a_no_is_resolved_and_an_ordinary_result(tmp_path: Any) -> None:
    turns = [[call("write_file", {"path": "a.txt", "content": "x\n"})], "Then not."]
    approver = AutoApprover(allow=False, message="not there")
    stage = await Stage.set(turns, workspace=Workspace(tmp_path), approver=approver)
    events = await stage.say()
    assert kinds(events)[2:4] == ["ApprovalResolved", "ToolResultInfo"]
    assert isinstance(events[2], ApprovalResolved)
    assert (events[2].allowed, events[2].message) == (False, "not there")
    assert [row.code for row in await stage.sessions.calls(stage.id)] == ["APPROVAL_DENIED"]
    assert list(tmp_path.glob("a.txt")) == []
    await stage.close()


class Slow:
    """Thinks until it is told to go on."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def decide(self, request: Any) -> Any:
        await self.go.wait()
        return (await AutoApprover().decide(request)) if self.go.is_set() else None


@pytest.mark.parametrize("how", ["timeout", "cancel", "broken", "answered elsewhere"])
async def test_a_question_without_a_clear_yes_is_a_no(tmp_path: Any, how: str) -> None:
    class Broken:
        async def decide(self, request: Any) -> Any:
            raise RuntimeError("no screen")

    approver = Broken() if how == "broken" else Slow()
    turns = [[call("write_file", {"path": "a.txt", "content": "x\n"})], "Then not."]
    agent = {"approval_timeout": 0.01} if how == "timeout" else {}
    stage = await Stage.set(turns, workspace=Workspace(tmp_path), approver=approver, agent=agent)
    resolved = []
    async for event in stage.loop.handle_message(stage.id, "Hi"):
        if isinstance(event, ApprovalRequested) and how == "cancel":
            asyncio.get_running_loop().create_task(stage.loop.cancel(stage.id))
        if isinstance(event, ApprovalRequested) and how == "answered elsewhere":
            no = await AutoApprover(allow=False, message="I said no").decide(event.request)
            await stage.sessions.decide(event.request.id, no)
            assert isinstance(approver, Slow)
            approver.go.set()
        if isinstance(event, ApprovalResolved):
            resolved.append(event.allowed)
    assert resolved == [False]
    assert [row.state for row in await stage.sessions.approvals(stage.id)] == ["denied"]
    assert list(tmp_path.glob("a.txt")) == []
    await stage.close()


async def test_the_shell_of_a_session_lives_from_turn_to_turn(tmp_path: Any) -> None:
    (tmp_path / "sub").mkdir()
    turns = [[call("Bash", {"command": "cd sub; export A=1"})], ".", [call("Bash", {"command": "pwd; echo $A"})], "."]
    stage = await Stage.set(turns, workspace=Workspace(tmp_path), live_output=True)
    await stage.say()
    events = await stage.say()
    printed = "".join(event.text for event in events if isinstance(event, ToolOutput))
    assert printed.endswith("sub\n1\n")
    await stage.close()


async def test_the_offline_model_runs_what_a_person_types_through_the_gates(tmp_path: Any) -> None:
    (tmp_path / "README.md").write_text("# Hello\n")
    stage = await Stage.set(OfflineModel(), workspace=Workspace(tmp_path))
    events = await stage.say("read_file path=README.md")
    assert kinds(events) == ["ToolCallInfo", "ToolResultInfo", "TextChunk", "TurnDone"]
    assert isinstance(events[2], TextChunk)
    assert "# Hello" in events[2].content
    safe = await Stage.set(OfflineModel(), mode=SAFE, sessions=stage.sessions)
    assert kinds(await safe.say("Bash ls"))[:2] == ["ToolCallInfo", "ToolDenied"]
    await safe.loop.aclose()
    await stage.close()


async def test_secrets_do_not_reach_the_transcript(tmp_path: Any) -> None:
    from pydantic import SecretStr

    from toolgate.settings import ModelSettings

    settings = settings_of().model_copy(update={"model": ModelSettings(api_key=SecretStr("sk-very-secret"))})
    turns = [["sk-v", call("probe", {"key": "sk-very-secret"}), "ery-sec", "ret, skip, sk-very-secre"], "sk", "ok"]
    stage = await Stage.set(turns, settings=settings)
    events = await stage.say("my key is sk-very-secret")
    said = await stage.transcript()
    assert said[0]["content"] == "my key is [redacted]"
    assert said[1]["content"].endswith("[redacted], skip, sk-very-secre")
    assert said[3]["content"] == "sk"
    shown = "".join(event.content for event in events if isinstance(event, TextChunk))
    assert shown == said[1]["content"] + "sk"
    log = await stage.sessions.events(stage.id)
    assert "very-secret" not in repr([event.payload for event in log]) + repr(events)
    await stage.close()


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["so \ud83d", "\ude00 ", "fine"], ["so ", "\U0001f600 ", "fine"]),
        (["\ud83d", "", "\ude00"], ["\U0001f600"]),
        (["lone \ud83d", "x"], ["lone ", "\ufffdx"]),
        (["\ude00x"], ["\ufffdx"]),
        (["at the end \ud83d"], ["at the end ", "\ufffd"]),
    ],
)
async def test_characters_that_come_in_halves_are_put_together(pieces: list[str], shown: list[str]) -> None:
    stage = await Stage.set([[*pieces, call("\ud83dx", '{"a": "\ud83d"}', id="\ud83d\ude00")], "."])
    events = await stage.say()
    assert [event.content for event in events if isinstance(event, TextChunk)][:-1] == shown
    said = await stage.transcript()
    assert said[1]["content"] == "".join(shown)
    assert said[1]["tool_calls"][0]["id"] == said[2]["tool_call_id"] == "\U0001f600"
    assert stage.model.requests[1].messages[2] == said[1]
    json.dumps(stage.model.requests[1].messages, ensure_ascii=False).encode()
    await stage.close()


async def test_nul_reaches_the_model_and_the_transcript_as_it_is() -> None:
    stage = await Stage.set([["a\0b", call("probe")], "x\0"], ProbeTool())
    events = await stage.say("u\0")
    shown = "".join(event.content for event in events if isinstance(event, TextChunk))
    said = [message["content"] for message in await stage.transcript() if message["role"] != "tool"]
    assert (shown, said) == ("a\0bx\0", ["u\0", "a\0b", "x\0"])
    assert stage.model.requests[1].messages[1]["content"] == "u\0"
    await stage.close()


async def test_a_long_conversation_is_compacted_and_the_person_is_not_forgotten() -> None:
    probe = ProbeTool(returning(ToolResponse.success({}, "x" * 1900)))
    turns = [[call("probe", id=str(n))] for n in range(20)]
    stage = await Stage.set([*turns, "end"], probe, agent={"context_tokens": 6000})
    events = await stage.say("Remember: the answer is 42.")
    sizes = [event for event in events if isinstance(event, Compacted)]
    assert sizes
    assert all(size.after_tokens <= 6000 < size.before_tokens for size in sizes)
    assert "compacted" in await stage.kinds()
    for request in stage.model.requests:
        assert request.messages[1] == {"role": "user", "content": "Remember: the answer is 42."}
        made = [made["id"] for message in request.messages for made in message.get("tool_calls", ())]
        assert [message["tool_call_id"] for message in request.messages if message["role"] == "tool"] == made
    await stage.close()


async def test_a_conversation_that_the_provider_finds_too_long_is_sent_again_shorter() -> None:
    probe = ProbeTool(returning(ToolResponse.success({}, "x" * 1900)))
    long = ModelError("MODEL_CONTEXT", "too long")
    script = ScriptedModel([[call("probe", id=str(n))] for n in range(6)] + ["end"])
    stage = await Stage.set(FaultyModel(script, [None, None, None, None, None, long]), probe)
    events = await stage.say()
    assert kinds(events)[-1] == "TurnDone"
    sizes = [sum(len(str(message)) for message in request.messages) for request in stage.model.requests]
    assert sizes[6] < sizes[5]
    await stage.close()


async def test_the_context_of_a_session_is_its_own() -> None:
    sessions = InMemorySessions(OPEN)
    seen = []

    async def note(params: Any, context: ToolContext) -> ToolResponse:
        seen.append((context.session_id, context.mode, bool(context.turn_id)))
        return ToolResponse.success({}, "done")

    stage = await Stage.set([[call("probe")], "."], ProbeTool(note), sessions=sessions)
    await stage.say()
    assert seen == [(stage.id, ToolMode.coding, True)]
    await stage.close()


async def test_the_first_request_with_all_tools_is_small() -> None:
    from toolgate.protocol.jsontext import encode
    from toolgate.runtime.builtin import agent_registry

    stage = await Stage.set(["ok"], registry=agent_registry())
    await stage.say("Hello")
    [request] = stage.model.requests
    body = {"model": "x" * 20, "messages": list(request.messages), "tools": list(request.tools), "stream": True}
    assert len(encode(body).encode()) / 4 < 5000
    await stage.close()
