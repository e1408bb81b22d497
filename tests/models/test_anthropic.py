"""`AnthropicModel` over real HTTP."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.models.conftest import Provider
from toolgate import ToolCall
from toolgate.errors import ModelError
from toolgate.models import AnthropicModel, ModelRequest, ModelStop, ModelUsage

HELLO = ModelRequest([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}])


@pytest.fixture
async def model(provider: Provider) -> AsyncIterator[AnthropicModel]:
    made = AnthropicModel("m1", api_key="k", base_url=provider.url, timeout=60)
    yield made
    await made.aclose()


START = {
    "type": "message_start",
    "message": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5},
    },
}


def block(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": content}


def text(index: int, content: str) -> dict[str, Any]:
    return delta(index, type="text_delta", text=content)


def arguments(index: int, content: str) -> dict[str, Any]:
    return delta(index, type="input_json_delta", partial_json=content)


def end(reason: str) -> list[dict[str, Any]]:
    stop = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": stop, "usage": {"output_tokens": 4}}, {"type": "message_stop"}]


USED = ModelUsage(input_tokens=15, output_tokens=4)


async def answer(model: AnthropicModel, request: ModelRequest = HELLO) -> list[Any]:
    return [item async for item in model.stream(request)]


async def test_text_comes_in_the_pieces_in_which_it_was_written(model: AnthropicModel, provider: Provider) -> None:
    provider.streams(START, block(0, type="text", text=""), text(0, "Hel"), text(0, "lo"), *end("end_turn"))
    assert await answer(model) == ["Hel", "lo", USED, ModelStop(reason="stop")]


async def test_several_calls_in_fragments(model: AnthropicModel, provider: Provider) -> None:
    provider.streams(
        START,
        block(0, type="text", text=""),
        text(0, "Let me see."),
        block(1, type="tool_use", id="a", name="read_file", input={}),
        arguments(1, '{"pa'),
        arguments(1, 'th": "f"}'),
        block(2, type="tool_use", id="b", name="grep", input={}),
        *end("tool_use"),
    )
    assert await answer(model) == [
        "Let me see.",
        ToolCall(id="a", name="read_file", arguments='{"path": "f"}'),
        ToolCall(id="b", name="grep", arguments=""),
        USED,
        ModelStop(reason="tool_calls"),
    ]


async def test_a_refusal_and_the_output_limit_say_so(model: AnthropicModel, provider: Provider) -> None:
    provider.streams(START, *end("refusal"))
    provider.streams(START, *end("max_tokens"))
    assert await answer(model) == [USED, ModelStop(reason="refusal")]
    assert await answer(model) == [USED, ModelStop(reason="length")]


async def test_the_conversation_is_put_into_the_apis_form(model: AnthropicModel, provider: Provider) -> None:
    provider.streams(START, *end("end_turn"))
    calls = [
        {"id": "call:1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}},
        {"id": "2", "type": "function", "function": {"name": "t", "arguments": "{broken"}},
    ]
    messages = [
        *HELLO.messages,
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call:1", "content": "r1"},
        {"role": "tool", "tool_call_id": "2", "content": ""},
        {"role": "user", "content": "and?"},
    ]
    tool = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"properties": {}}}}
    await answer(model, ModelRequest(messages, [tool]))
    assert provider.requests == [
        {
            "model": "m1",
            "max_tokens": 8192,
            "stream": True,
            "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object", "properties": {}}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "call_1", "name": "t", "input": {"a": 1}},
                        {"type": "tool_use", "id": "2", "name": "t", "input": {"unreadable_arguments": "{broken"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "call_1", "content": "r1"},
                        {"type": "tool_result", "tool_use_id": "2", "content": "(empty)"},
                        {"type": "text", "text": "and?"},
                    ],
                },
            ],
        }
    ]
    sent = {name: value for name, value in provider.headers[0].items() if name in ("x-api-key", "authorization")}
    assert sent == {"x-api-key": "k"}


@pytest.mark.parametrize(
    ("status", "message", "code", "retryable"),
    [
        (401, "bad key", "MODEL_AUTH", False),
        (400, "bad", "MODEL_BAD_REQUEST", False),
        (400, "prompt is too long: 300000 tokens", "MODEL_CONTEXT", False),
        (429, "slowly", "MODEL_RATE_LIMIT", True),
        (529, "overloaded", "MODEL_UNAVAILABLE", True),
    ],
)
async def test_statuses(
    model: AnthropicModel, provider: Provider, status: int, message: str, code: str, retryable: bool
) -> None:
    provider.fails(status, message)
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert len(provider.requests) == 1


async def test_an_error_in_the_stream(model: AnthropicModel, provider: Provider) -> None:
    provider.streams(START, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert (caught.value.code, caught.value.retryable) == ("MODEL_UNAVAILABLE", True)


async def test_nobody_there() -> None:
    model = AnthropicModel(api_key="k", base_url="http://127.0.0.1:1")
    with pytest.raises(ModelError) as caught:
        await answer(model)
    await model.aclose()
    assert (caught.value.code, caught.value.retryable) == ("MODEL_UNAVAILABLE", True)


async def test_an_empty_stream_may_be_tried_again(model: AnthropicModel, provider: Provider) -> None:
    provider.streams()
    with pytest.raises(ModelError) as caught:
        await answer(model)
    assert (caught.value.code, caught.value.retryable) == ("MODEL_PROTOCOL", True)


async def test_without_a_key_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY") as caught:
        await answer(AnthropicModel(base_url="http://127.0.0.1:1"))
    assert caught.value.code == "MODEL_AUTH"


async def test_cancelling_hangs_up(model: AnthropicModel, provider: Provider) -> None:
    provider.streams(START, block(0, type="text", text=""), text(0, "a"), 600.0)
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
