"""`OpenAIModel` over real HTTP."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.models.conftest import Provider
from toolgate import ToolCall
from toolgate.errors import ModelError
from toolgate.models import ModelRequest, ModelStop, ModelUsage, OpenAIModel

HELLO = ModelRequest([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}])
DONE = "data: [DONE]\n\n"


@pytest.fixture
async def model(provider: Provider) -> AsyncIterator[OpenAIModel]:
    made = OpenAIModel("m1", api_key="k", base_url=provider.url, timeout=60)
    yield made
    await made.aclose()


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m1", "choices": [choice]}


def part(index: int | None, arguments: str | None = None, **names: Any) -> dict[str, Any]:
    function = {**({"name": names.pop("name")} if "name" in names else {}), "arguments": arguments}
    return chunk(tool_calls=[{**({} if index is None else {"index": index}), **names, "function": function}])


async def answer(model: OpenAIModel, request: ModelRequest = HELLO) -> list[Any]:
    return [item async for item in model.stream(request)]


async def test_text_comes_in_the_pieces_in_which_it_was_written(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(
        chunk(role="assistant", content=""), chunk(content="Hel"), chunk(content="lo"), chunk("stop"), DONE
    )
    assert await answer(model) == ["Hel", "lo", ModelStop(reason="stop")]


async def test_the_request_is_what_the_api_documents(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(chunk("stop", content="x"), DONE)
    tool = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}
    calls = [{"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]
    messages = [
        *HELLO.messages,
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]
    await answer(model, ModelRequest(messages, [tool]))
    assert provider.requests == [
        {
            "model": "m1",
            "messages": [*messages[:2], {**messages[2], "content": None}, messages[3]],
            "tools": [tool],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
    assert provider.headers[0]["authorization"] == "Bearer k"


async def test_several_calls_in_fragments(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(
        chunk(content="Let me see."),
        part(0, "", id="a", name="read_file", type="function"),
        part(0, '{"pa'),
        part(1, '{"x"', id="b", name="grep", type="function"),
        part(0, 'th": "f"}'),
        part(1, ":1}"),
        chunk("tool_calls"),
        DONE,
    )
    assert await answer(model) == [
        "Let me see.",
        ToolCall(id="a", name="read_file", arguments='{"path": "f"}'),
        ToolCall(id="b", name="grep", arguments='{"x":1}'),
        ModelStop(reason="tool_calls"),
    ]


async def test_servers_that_count_every_call_as_the_first(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(part(0, "{}", id="a", name="one"), part(0, '{"k"', id="b", name="two"), part(0, ":1}"), DONE)
    assert (await answer(model))[:2] == [
        ToolCall(id="a", name="one", arguments="{}"),
        ToolCall(id="b", name="two", arguments='{"k":1}'),
    ]


async def test_broken_arguments_are_passed_on_as_they_are(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(part(0, '{"path": ', id="a", name="read_file"), chunk("length"), DONE)
    assert await answer(model) == [
        ToolCall(id="a", name="read_file", arguments='{"path": '),
        ModelStop(reason="length"),
    ]


async def test_a_call_without_an_id_gets_one(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(part(0, "{}", name="t"), chunk("tool_calls"), DONE)
    call = (await answer(model))[0]
    assert call.id.startswith("call_")


async def test_usage_and_empty_choices_are_no_answer_and_no_error(model: OpenAIModel, provider: Provider) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    empty = {**chunk(), "choices": []}
    provider.streams(empty, chunk(content="hi"), chunk("stop"), {**empty, "usage": usage}, DONE)
    assert await answer(model) == ["hi", ModelUsage(input_tokens=7, output_tokens=2), ModelStop(reason="stop")]


async def test_a_refusal_is_text_and_says_so(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(chunk(refusal="I cannot"), chunk(refusal=" do that."), chunk("stop"), DONE)
    assert await answer(model) == ["I cannot", " do that.", ModelStop(reason="refusal")]


async def test_a_filter_is_a_refusal(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(chunk("content_filter"), DONE)
    assert await answer(model) == [ModelStop(reason="refusal")]


async def test_no_choice_at_all_may_be_tried_again(model: OpenAIModel, provider: Provider) -> None:
    provider.streams({**chunk(), "choices": []}, DONE)
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert (caught.value.code, caught.value.retryable) == ("MODEL_PROTOCOL", True)


@pytest.mark.parametrize(
    ("status", "message", "code", "retryable"),
    [
        (401, "bad key", "MODEL_AUTH", False),
        (403, "not yours", "MODEL_AUTH", False),
        (400, "bad", "MODEL_BAD_REQUEST", False),
        (400, "maximum context length is 8192 tokens", "MODEL_CONTEXT", False),
        (404, "no such model", "MODEL_NOT_FOUND", False),
        (413, "too large", "MODEL_CONTEXT", False),
        (429, "slowly", "MODEL_RATE_LIMIT", True),
        (500, "oops", "MODEL_UNAVAILABLE", True),
        (503, "later", "MODEL_UNAVAILABLE", True),
    ],
)
async def test_statuses(
    model: OpenAIModel, provider: Provider, status: int, message: str, code: str, retryable: bool
) -> None:
    provider.fails(status, message)
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert len(provider.requests) == 1  # the loop retries, not the SDK


async def test_the_wish_of_the_provider_to_wait_is_kept(model: OpenAIModel, provider: Provider) -> None:
    provider.fails(429, retry_after="7")
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert caught.value.retry_after == 7.0


async def test_an_error_in_the_stream(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(chunk(content="so far"), 'data: {"error": {"message": "overloaded"}}\n\n')
    stream = model.stream(HELLO)
    first = await anext(stream)
    with pytest.raises(ModelError) as caught:
        await anext(stream)
    assert ([first], caught.value.code, caught.value.retryable) == (["so far"], "MODEL_PROTOCOL", True)


async def test_what_is_no_json(model: OpenAIModel, provider: Provider) -> None:
    provider.streams("data: {not json\n\n")
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert caught.value.code == "MODEL_PROTOCOL"


async def test_nobody_there() -> None:
    model = OpenAIModel(api_key="k", base_url="http://127.0.0.1:1")
    with pytest.raises(ModelError) as caught:
        await answer(model)
    await model.aclose()
    assert (caught.value.code, caught.value.retryable) == ("MODEL_UNAVAILABLE", True)


async def test_silence_times_out(provider: Provider) -> None:
    model = OpenAIModel(api_key="k", base_url=provider.url, timeout=0.2)
    provider.streams(chunk(content="a"), 600.0)
    with pytest.raises(ModelError) as caught:
        await answer(model)
    await model.aclose()
    assert (caught.value.code, caught.value.retryable) == ("MODEL_UNAVAILABLE", True)


async def test_without_a_key_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        await answer(OpenAIModel())
    assert caught.value.code == "MODEL_AUTH"


async def test_cancelling_hangs_up(model: OpenAIModel, provider: Provider) -> None:
    provider.streams(chunk(content="a"), 600.0)
    came = asyncio.Event()

    async def read() -> None:
        async for _ in model.stream(HELLO):
            came.set()

    task = asyncio.create_task(read())
    await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(provider.hung_up.wait(), 60)
