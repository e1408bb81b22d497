"""Sub-agents that go on: resumed by their id, run in the background, and asked for their state."""

import asyncio
from typing import Any

import pytest

from tests.agent.kit import Stage, call
from tests.agent.test_subagents import Cast, child, children, result, task
from tests.kit import ProbeTool
from toolgate import ToolContext, ToolResponse
from toolgate.agent import ToolCallInfo, ToolOutput, ToolResultInfo, TurnDone
from toolgate.agent.background_tasks import BackgroundTasks
from toolgate.testing import ScriptedModel


async def known_id(stage: Stage) -> str:
    [session] = await children(stage)
    return str(session.id)


async def test_a_task_that_goes_on_remembers_what_it_did() -> None:
    cast = Cast(parent=[[task(prompt="First.")], "Done."], child=["answer 1", "answer 2"])
    stage = await Stage.set(cast, agents=[child()])
    await stage.say()
    session = await known_id(stage)
    cast.models["parent"] = ScriptedModel([[call("task", {"id": session, "prompt": "Second."}, id="t2")], "Done."])
    events = await stage.say("go on")

    response = result(events, "t2")
    assert (response.data["result"], response.data["task_id"]) == ("answer 2", session)
    seen = [message["content"] for message in cast.models["child"].requests[1].messages[1:]]
    assert seen == ["First.", "answer 1", "Second."]
    assert len(await children(stage)) == 1
    await stage.close()


async def test_a_task_that_goes_on_can_do_so_in_the_background() -> None:
    cast = Cast(parent=[[task(prompt="First.")], "Done."], child=["answer 1", "answer 2"])
    stage = await Stage.set(cast, agents=[child()])
    await stage.say()
    arguments = {"id": await known_id(stage), "prompt": "Second.", "background": True}
    cast.models["parent"] = ScriptedModel([[call("task", arguments, id="t2")], "Waiting.", "Done."])
    events = await stage.say("go on")

    [notice] = [event for event in events if isinstance(event, ToolResultInfo) and event.call_id.startswith("task_")]
    assert notice.result.response.data["result"] == "answer 2"
    await stage.close()


async def test_the_state_of_a_task_of_an_earlier_turn_is_its_answer() -> None:
    cast = Cast(parent=[[task(prompt="First.")], "Done."], child=["answer 1"])
    stage = await Stage.set(cast, agents=[child()])
    await stage.say()
    cast.models["parent"] = ScriptedModel([[call("task", {"id": await known_id(stage)}, id="t2")], "Done."])

    assert result(await stage.say("again"), "t2").data["result"] == "answer 1"
    await stage.close()


async def test_the_parent_goes_on_beside_a_background_task_and_is_told_of_its_end() -> None:
    release = asyncio.Event()

    async def wait(params: Any, context: ToolContext) -> ToolResponse:
        await release.wait()
        return ToolResponse.success({}, "released")

    async def let_go(params: Any, context: ToolContext) -> ToolResponse:
        release.set()
        return ToolResponse.success({}, "go")

    blocker, opener = ProbeTool(name="blocker", behaviour=wait), ProbeTool(name="opener", behaviour=let_go)
    cast = Cast(
        parent=[[task(background=True)], [call("opener", id="o1")], "I wait.", "Thanks."],
        child=[[call("blocker")], "found it"],
    )
    stage = await Stage.set(cast, blocker, opener, agents=[child(tools=("blocker",))])
    events = await stage.say()

    started = result(events)
    assert (started.data["running"], started.status) == (True, "success")
    notices = [event for event in events if isinstance(event, ToolResultInfo) and event.call_id.startswith("task_")]
    assert [notice.result.response.data["result"] for notice in notices] == ["found it"]
    assert notices[0].result.response.data["task_id"] == started.data["task_id"]
    order = [event.call_id for event in events if isinstance(event, ToolCallInfo)]
    assert order[:2] == ["t1", "o1"]
    assert isinstance(events[-1], TurnDone)
    roles = [message.role for message in await stage.sessions.messages(stage.id)]
    assert roles[-3:] == ["assistant", "tool", "assistant"]
    await stage.close()


async def test_a_running_task_says_that_it_runs_and_an_ended_one_its_answer() -> None:
    release = asyncio.Event()
    states: list[ToolResponse] = []

    async def wait(params: Any, context: ToolContext) -> ToolResponse:
        await release.wait()
        return ToolResponse.success({}, "released")

    async def look(params: Any, context: ToolContext) -> ToolResponse:
        from toolgate.tools.builtin.task import TaskParams, TaskTool

        [session] = await children(stage)
        states.append(await TaskTool().execute(TaskParams(id=session.id), context))
        release.set()
        return ToolResponse.success({}, "looked")

    blocker, looker = ProbeTool(name="blocker", behaviour=wait), ProbeTool(name="looker", behaviour=look)
    cast = Cast(
        parent=[[task(background=True)], [call("looker", id="l1")], "Waiting.", "Done."],
        child=[[call("blocker")], "found it"],
    )
    stage = await Stage.set(cast, blocker, looker, agents=[child(tools=("blocker",))])
    await stage.say()

    [state] = states
    assert state.data["running"] is True
    assert "works on task" in state.text
    await stage.close()


async def test_a_background_task_that_fails_is_reported_as_a_failure() -> None:
    cast = Cast(parent=[[task(background=True)], "Waiting.", "I see."], child=[""])
    stage = await Stage.set(cast, agents=[child()])
    events = await stage.say()

    [notice] = [event for event in events if isinstance(event, ToolResultInfo) and event.call_id.startswith("task_")]
    assert notice.result.is_error
    assert "without an answer" in notice.result.message
    assert isinstance(events[-1], TurnDone)
    await stage.close()


async def test_cancelling_the_turn_ends_its_background_tasks() -> None:
    begun = asyncio.Event()

    async def forever(params: Any, context: ToolContext) -> ToolResponse:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    blocker = ProbeTool(name="blocker", behaviour=forever)
    cast = Cast(parent=[[task(background=True)], "I wait.", "never"], child=[[call("blocker")], "never"])
    stage = await Stage.set(cast, blocker, agents=[child(tools=("blocker",))])
    running = asyncio.create_task(stage.say())
    await asyncio.wait_for(begun.wait(), 30)
    await stage.loop.cancel(stage.id)
    await asyncio.wait_for(running, 30)

    [session] = await children(stage)
    [turn] = await stage.sessions.turns(session.id)
    assert turn.status == "cancelled"
    assert await stage.sessions.running_sessions() == []
    await stage.close()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"id": "nope"}, "NOT_FOUND"),
        ({"id": "nope", "prompt": "x"}, "NOT_FOUND"),
        ({"id": "nope", "prompt": "x", "background": True}, "NOT_FOUND"),
        ({"id": "x", "agent": "child"}, "INVALID_PARAM"),
        ({"id": "x", "background": True}, "INVALID_PARAM"),
        ({"agent": "child"}, "INVALID_PARAM"),
        ({"prompt": "x"}, "INVALID_PARAM"),
        ({"agent": "child", "prompt": "  "}, "INVALID_PARAM"),
        ({}, "INVALID_PARAM"),
        ({"agent": "nobody", "prompt": "x", "background": True}, "INVALID_PARAM"),
    ],
)
async def test_bad_input_is_an_answer_and_starts_nothing(arguments: dict[str, Any], code: str) -> None:
    stage = await Stage.set(Cast(parent=[[call("task", arguments, id="t1")], "Done."]), agents=[child()])
    response = result(await stage.say())

    assert response.error is not None
    assert response.error.code == code
    assert await children(stage) == []
    await stage.close()


async def test_the_session_of_somebody_else_is_no_task() -> None:
    """Neither a session of a person nor the task of another session can be resumed, looked at or told apart."""
    stage = await Stage.set(Cast(parent=[[task()], "Done."], child=["secret answer"]), agents=[child()])
    await stage.say()
    theirs = await known_id(stage)
    messages = set()
    for known in (stage.id, theirs, "00000000-0000-7000-8000-000000000000"):
        for more in ({}, {"prompt": "x"}, {"prompt": "x", "background": True}):
            steps = Cast(parent=[[call("task", {"id": known, **more}, id="t1")], "Done."], child=["never"])
            other = await Stage.set(steps, agents=[child()], sessions=stage.sessions)
            response = result(await other.say())
            assert response.error is not None
            assert response.error.code == "NOT_FOUND"
            messages.add(response.error.message.replace(known, "ID"))
            await other.loop.aclose()
    assert len(messages) == 1
    assert len(await stage.sessions.turns(theirs)) == 1
    await stage.close()


async def test_a_task_that_is_resumed_replaces_the_earlier_one() -> None:
    tasks = BackgroundTasks()

    async def answer(text: str) -> dict[str, Any]:
        return {"result": text}

    tasks.keep("a", tasks.start(answer("one")))
    await tasks.wait()
    assert tasks.ended() == ["a"]
    tasks.mark_reported("a")
    assert tasks.ended() == []
    tasks.keep("a", tasks.start(answer("two")))
    assert tasks.running
    await tasks.wait()
    assert tasks.ended() == ["a"]
    await tasks.close()


async def test_what_a_sub_agent_does_is_live_output_of_its_call() -> None:
    cast = Cast(parent=[[task()], "Thanks."], child=[[call("probe")], "42"])
    stage = await Stage.set(cast, ProbeTool(), agents=[child(tools=("probe",))], live_output=True, nested_output=True)
    events = await stage.say()

    shown = [(event.call_id, event.text) for event in events if isinstance(event, ToolOutput)]
    assert shown == [("t1", "child: probe\n")]
    await stage.close()


async def test_the_log_says_that_the_turn_waits_for_a_background_task() -> None:
    release = asyncio.Event()

    async def wait(params: Any, context: ToolContext) -> ToolResponse:
        await release.wait()
        return ToolResponse.success({}, "released")

    cast = Cast(parent=[[task(background=True)], "I wait.", "Thanks."], child=[[call("blocker")], "found it"])
    stage = await Stage.set(cast, ProbeTool(name="blocker", behaviour=wait), agents=[child(tools=("blocker",))])
    saying = asyncio.create_task(stage.say())
    async for event in stage.sessions.follow(stage.id):
        if event.kind == "activity":
            assert event.payload == {"what": "waiting", "text": "Waiting for sub-agents in the background"}
            break
    release.set()
    await saying
    await stage.close()
