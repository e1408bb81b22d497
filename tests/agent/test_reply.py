"""One answer of the model: how much of it is kept, whatever the client yields."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator

import pytest

from tests.agent.kit import Stage, call
from tests.models.conftest import Provider, provider
from tests.models.test_openai import DONE, chunk
from toolgate.agent import TextChunk, ToolCallInfo, ToolResultInfo, TurnDone, TurnFailed
from toolgate.models import ModelItem, ModelRequest, OpenAIModel
from toolgate.models.tool_calls import MAX_ARGUMENTS_BYTES, MAX_CALLS

__all__ = ["provider"]


class Endless:
    """Yields the same item for ever, without waiting for anything."""

    def __init__(self, item: ModelItem) -> None:
        self.item = item
        self.closed = False
        self.yielded = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        try:
            while True:
                self.yielded += 1
                yield self.item
        finally:
            self.closed = True


@pytest.mark.parametrize("piece", ["x", "héé", "\U0001f600", "x" * 3_000_000])
async def test_an_answer_that_never_ends_is_cut_and_says_so(piece: str) -> None:
    model = Endless(piece)
    stage = await Stage.set(model, agent={"max_answer_bytes": 50_000})
    events = await stage.say()
    said = (await stage.sessions.messages(stage.id))[-1].content
    shown = "".join(event.content for event in events if isinstance(event, TextChunk))
    text, _, note = said.partition("\n\n[")
    assert isinstance(events[-1], TurnDone)
    assert (shown, note) == (said, "The answer was cut: it was longer than 50000 bytes.]")
    assert 49_990 <= len(text.encode()) <= 50_000
    assert piece.startswith(text) or text == piece * (len(text) // len(piece))
    assert model.closed


async def test_an_answer_of_just_the_limit_is_whole() -> None:
    stage = await Stage.set(["x" * 50_000], agent={"max_answer_bytes": 50_000})
    await stage.say()
    assert (await stage.sessions.messages(stage.id))[-1].content == "x" * 50_000


async def test_the_default_limit_fits_into_a_message_with_its_note() -> None:
    stage = await Stage.set([["é" * 600_000]])
    await stage.say()
    said = (await stage.sessions.messages(stage.id))[-1].content
    assert (len(said) > 499_999, said.endswith("longer than 1000000 bytes.]")) == (True, True)


async def test_calls_without_an_end_fail_the_turn() -> None:
    stage = await Stage.set(Endless(call("current_time")))
    events = await stage.say()
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, await stage.sessions.calls(stage.id)) == ("MODEL_PROTOCOL", [])


async def test_as_many_calls_as_are_allowed_are_all_run() -> None:
    calls = [call("current_time", id=f"c{number}") for number in range(MAX_CALLS)]
    stage = await Stage.set([calls, "Done."])
    events = await stage.say()
    assert len([event for event in events if isinstance(event, ToolResultInfo)]) == MAX_CALLS


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("size", [MAX_ARGUMENTS_BYTES + 1, 20 * MAX_ARGUMENTS_BYTES])
async def test_arguments_over_their_limit_are_refused_and_only_their_beginning_is_kept(size: int) -> None:
    big = call("current_time", '{"timezone": "' + "x" * size)
    stage = await Stage.set([[big, call("current_time", id="c2")], "Sorry."])
    events = await stage.say()
    refused, whole = [event for event in events if isinstance(event, ToolResultInfo)]
    assert (refused.result.response.error is not None, whole.result.is_error) == (True, False)
    assert f"larger than {MAX_ARGUMENTS_BYTES} bytes" in refused.result.output
    kept = [
        message.tool_calls[0].arguments for message in await stage.sessions.messages(stage.id) if message.tool_calls
    ]
    told = next(event.arguments for event in events if isinstance(event, ToolCallInfo))
    sent = stage.model.requests[1].messages[-3]["tool_calls"][0]["function"]["arguments"]
    assert (told, sent) == (kept[0], kept[0])
    assert (len(kept[0]) < 1_000, kept[0].endswith("bytes of arguments]")) == (True, True)


@pytest.mark.usefixtures("everywhere")
async def test_an_id_or_a_name_without_an_end_can_be_stored() -> None:
    stage = await Stage.set([[call("x" * 100_000, id="i" * 100_000)], "Done."])
    assert isinstance((await stage.say())[-1], TurnDone)
    stored = (await stage.sessions.calls(stage.id))[0]
    assert (len(stored.call_id) < 300, len(stored.tool_name)) == (True, 200)


async def test_others_run_while_a_model_never_waits() -> None:
    longest = 0.0

    async def other() -> None:
        nonlocal longest
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)

    stage = await Stage.set(Endless("x"), agent={"max_answer_bytes": 100_000})
    await stage.say()  # what is loaded on first use is loaded
    gc.disable()  # a collection takes as long as everything that other tests have left
    task = asyncio.create_task(other())
    await stage.say()
    task.cancel()
    gc.enable()
    assert longest < 0.1


async def test_a_reader_that_is_far_behind_gets_the_text_in_fewer_pieces() -> None:
    stage = await Stage.set([["x"] * 20_000])
    stream = stage.loop.handle_message(stage.id, "Hello")
    await stream.started()
    await stream.wait()
    events = [event async for event in stream]
    assert "".join(event.content for event in events if isinstance(event, TextChunk)) == "x" * 20_000
    assert (len(events) < 2_000, type(events[-1])) == (True, TurnDone)


async def test_bytes_that_are_not_utf8_are_tried_again(provider: Provider) -> None:
    provider.answers.append([b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: \xff\xfe\xff\n\n"])
    provider.streams(chunk(content="Hello"), chunk("stop"), DONE)
    model = OpenAIModel("m1", api_key="k", base_url=provider.url, timeout=60)
    stage = await Stage.set(model)
    events = await stage.say()
    await model.aclose()
    assert [event.content for event in events if isinstance(event, TextChunk)] == ["Hello"]
    assert (isinstance(events[-1], TurnDone), len(provider.requests)) == (True, 2)


async def test_bytes_that_are_not_utf8_after_shown_text_end_the_turn_and_the_text_is_kept(provider: Provider) -> None:
    provider.streams(chunk(content="Hel"), 'data: "\udcff"\n\n')
    model = OpenAIModel("m1", api_key="k", base_url=provider.url, timeout=60)
    stage = await Stage.set(model)
    events = await stage.say()
    await model.aclose()
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, len(provider.requests)) == ("MODEL_PROTOCOL", 1)
    assert (await stage.sessions.messages(stage.id))[-1].content == "Hel"
