"""Summaries by the model: what it reads afterwards, what stays, and what happens when it fails."""

from typing import Any

import pytest

from tests.agent.kit import Stage, call
from tests.kit import ProbeTool, returning
from toolgate import ToolRegistry
from toolgate.agent import Activity, Compacted, TurnDone, TurnFailed
from toolgate.agent.summaries import shortened, summary_messages
from toolgate.errors import MessageTooLarge, ModelError
from toolgate.protocol.envelope import ToolResponse
from toolgate.testing import FaultyModel, ScriptedModel

pytestmark = pytest.mark.usefixtures("everywhere")
LONG = "word " * 900
ROOM = 8_800
"""Tokens: enough for seven long answers and the prompt, not for eight. No tools, so that their texts do not count."""


def roles(request: Any) -> list[str]:
    return [message["role"] for message in request.messages]


async def long_session(*more: Any, **options: Any) -> Stage:
    """A session whose next message needs more room than there is."""
    script = [f"Answer {number}: {LONG}" for number in range(8)]
    stage = await Stage.set([*script, *more], registry=ToolRegistry(), agent={"context_tokens": ROOM}, **options)
    for number in range(8):
        await stage.say(f"Question {number}")
    return stage


async def test_old_rounds_are_summarised_by_the_model_and_the_persons_words_stay() -> None:
    stage = await long_session("They asked eight questions.", "Fine.", live_output=True)
    events = await stage.say("And now?")
    [compacted] = [event for event in events if isinstance(event, Compacted)]
    assert (compacted.by, compacted.summary) == ("model", "They asked eight questions.")
    assert compacted.after_tokens < compacted.before_tokens
    assert [event.what for event in events if isinstance(event, Activity)] == ["compacting"]
    asked, sent = stage.model.requests[-2:]
    assert (roles(asked), len(asked.tools)) == (["system", "user"], 0)
    assert "Question 0" in asked.messages[1]["content"]
    assert sent.messages[1]["role"] == "user"
    assert "Question 0" in sent.messages[1]["content"]
    assert sent.messages[2]["role"] == "assistant"
    assert sent.messages[2]["content"].endswith("They asked eight questions.")
    assert sent.messages[-1] == {"role": "user", "content": "And now?"}
    await stage.close()


async def test_another_process_reads_the_summary_and_the_log_has_the_originals() -> None:
    stage = await long_session("They asked eight questions.", "Fine.")
    await stage.say("And now?")
    again = await Stage.set(["Yes."], registry=ToolRegistry(), sessions=stage.sessions, agent={"context_tokens": ROOM})
    again.id = stage.id
    await again.say("Still there?")
    assert "They asked eight questions." in again.model.requests[0].messages[2]["content"]
    said = [message.content for message in await stage.sessions.messages(stage.id)]
    assert [f"Question {number}" in said for number in range(8)] == [True] * 8
    await again.close()
    await stage.close()


async def test_a_summary_can_be_taken_back() -> None:
    stage = await long_session("They asked eight questions.", "Fine.")
    await stage.say("And now?")
    assert (await stage.sessions.context(stage.id)).summary
    assert await stage.sessions.restore_context(stage.id)
    whole = await stage.sessions.context(stage.id)
    assert (whole.summary, list(whole.messages)) == ("", await stage.sessions.messages(stage.id))
    assert not await stage.sessions.restore_context(stage.id)
    await stage.close()


async def test_if_the_summary_fails_older_steps_are_left_out_as_before() -> None:
    stage = await long_session([ModelError("MODEL_BAD_REQUEST", "no")], "Fine.")
    events = await stage.say("And now?")
    [compacted] = [event for event in events if isinstance(event, Compacted)]
    assert (compacted.by, isinstance(events[-1], TurnDone)) == ("budget", True)
    assert "left out" in str(stage.model.requests[-1].messages)
    await stage.close()


async def test_a_call_is_never_parted_from_its_result() -> None:
    probe = ProbeTool(returning(ToolResponse.success({}, "x" * 350)))
    steps = [[f"{LONG} step {number}", call("probe", id=str(number))] for number in range(14)]
    summary = "It probed."
    script = ScriptedModel([*steps[:8], summary, *steps[8:], "end"])
    registry = ToolRegistry()
    registry.register(probe)
    stage = await Stage.set(script, registry=registry, agent={"context_tokens": ROOM})
    await stage.say("Probe often.")
    assert any(isinstance(event.payload.get("summary"), str) for event in await stage.sessions.events(stage.id))
    for request in stage.model.requests:
        made = [made["id"] for message in request.messages for made in message.get("tool_calls", ())]
        assert [message["tool_call_id"] for message in request.messages if message["role"] == "tool"] == made
        assert "Probe often." in str(request.messages)
    await stage.close()


async def test_on_demand_everything_is_summarised_and_the_session_goes_on() -> None:
    stage = await Stage.set([f"One. {LONG}", "Two.", "They said hello.", "Three."])
    await stage.say("Hello")
    await stage.say("Again")
    events = [event async for event in stage.loop.compact(stage.id)]
    assert [type(event).__name__ for event in events] == ["Compacted", "TurnDone"]
    await stage.say("Next")
    sent = stage.model.requests[-1].messages
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"].endswith("They said hello.")
    await stage.close()


async def test_nothing_to_summarise_is_said() -> None:
    stage = await Stage.set([])
    [event] = [event async for event in stage.loop.compact(stage.id)]
    assert isinstance(event, TurnFailed)
    assert (event.code, event.message) == ("NOTHING_TO_COMPACT", "There is nothing to summarise yet.")
    await stage.close()


async def test_the_context_adapts_to_what_the_model_takes() -> None:
    long = ModelError("MODEL_CONTEXT", "too long")
    long.limit, long.used = 9_000, None
    script = ScriptedModel([f"Answer {LONG}" for _ in range(8)] + ["fine"])
    stage = await Stage.set(FaultyModel(script, [None] * 6 + [long]))
    for number in range(6):
        await stage.say(f"Question {number}")
    done = (await stage.say("More"))[-1]
    assert isinstance(done, TurnDone)
    assert done.context_tokens <= done.context_limit == 7_650
    session = await stage.sessions.get(stage.id)
    assert (session.context_tokens, session.context_limit) == (done.context_tokens, 7_650)
    await stage.close()


async def test_a_message_that_cannot_fit_is_refused_before_it_is_stored() -> None:
    stage = await Stage.set(["never"], agent={"context_tokens": 8_000})
    with pytest.raises(MessageTooLarge, match=r"it has 60,000 bytes, about 15,004 tokens, and about [\d,]+ bytes"):
        await stage.say("x" * 60_000)
    assert (await stage.kinds(), stage.model.requests) == ([], [])
    assert (await stage.sessions.try_claim(stage.id)) is not None
    await stage.close()


def test_long_words_of_the_person_lose_their_middle_and_all_are_there() -> None:
    said = ["short", "b" * 50_000, "c" * 900]
    [words, summary] = summary_messages("S", said, 4_000)
    assert len(words["content"]) < 5_000
    assert ("short" in words["content"], "c" * 900 in words["content"]) == (True, True)
    assert "characters left out here" in words["content"]
    assert summary["role"] == "assistant"
    assert shortened("abc", 3) == "abc"
