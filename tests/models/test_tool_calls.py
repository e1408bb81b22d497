"""Calls that arrive in fragments: their number and size are bounded."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.models.conftest import Provider
from tests.models.kit import Setting, of
from toolgate import ToolCall
from toolgate.models.tool_calls import MAX_ARGUMENTS_BYTES, MAX_CALLS


@pytest.fixture(params=["openai", "anthropic"])
async def setting(request: pytest.FixtureRequest, provider: Provider) -> AsyncIterator[Setting]:
    made = Setting(request.param, provider)
    yield made
    await made.model.aclose()


async def test_arguments_are_refused_as_soon_as_they_pass_their_limit(setting: Setting) -> None:
    written = 0

    def parts() -> Iterator[bytes]:
        nonlocal written
        yield setting.events.call(0)
        while True:
            written += 1
            yield setting.events.arguments(0, "x" * 16_384)

    setting.sends(parts())
    calls = [item for item in await setting.answer() if isinstance(item, ToolCall)]
    assert [(call.id, call.name) for call in calls] == [("c0", "t")]
    assert MAX_ARGUMENTS_BYTES < len(calls[0].arguments) <= MAX_ARGUMENTS_BYTES + 16_384
    await asyncio.wait_for(setting.provider.hung_up.wait(), 60)
    assert written < 1024  # sixteen megabytes, some of them on their way


async def test_the_calls_before_one_that_is_refused_are_kept(setting: Setting) -> None:
    big = setting.events.arguments(1, "x" * (MAX_ARGUMENTS_BYTES + 1))
    setting.sends(
        [setting.events.call(0), setting.events.arguments(0, "{}"), setting.events.call(1), big, setting.events.call(2)]
    )
    calls = [item for item in await setting.answer() if isinstance(item, ToolCall)]
    assert [(call.id, call.arguments[:2]) for call in calls] == [("c0", "{}"), ("c1", "xx")]


async def test_arguments_of_just_one_mebibyte_are_whole(setting: Setting) -> None:
    text = json.dumps({"a": "x" * (MAX_ARGUMENTS_BYTES - 9)})
    pieces = [text[at : at + 50_000] for at in range(0, len(text), 50_000)]
    setting.sends(
        [setting.events.call(0), *(setting.events.arguments(0, piece) for piece in pieces), setting.events.end()]
    )
    calls = [item for item in await setting.answer() if isinstance(item, ToolCall)]
    assert [call.arguments for call in calls] == [text]


async def test_the_cost_of_small_pieces_is_linear(setting: Setting) -> None:
    async def cost(number: int) -> float:
        event = setting.events.arguments(0, "xxxxxxxxxxxxxxxx")
        setting.sends([setting.events.call(0), *of(number, event), setting.events.end()])
        before = time.thread_time()
        await setting.answer(timeout=60)
        return time.thread_time() - before

    await cost(100)  # what is loaded on first use is loaded
    small, large = await cost(5_000), await cost(40_000)
    assert large < 8 * small * 2.5 + 0.2


async def test_the_arguments_of_all_calls_are_bounded_together(setting: Setting) -> None:
    parts = [setting.events.call(n) + setting.events.arguments(n, "x" * 900_000) for n in range(12)]
    setting.sends(parts)
    error = await setting.failure()
    assert (error.code, error.retryable) == ("MODEL_PROTOCOL", False)


async def test_the_number_of_calls_is_bounded(setting: Setting) -> None:
    setting.sends(setting.events.call(n) for n in range(10 * MAX_CALLS))
    error = await setting.failure()
    assert (error.code, str(MAX_CALLS) in error.message) == ("MODEL_PROTOCOL", True)
    setting.sends([*(setting.events.call(n) for n in range(MAX_CALLS)), setting.events.end()])
    assert len([item for item in await setting.answer() if isinstance(item, ToolCall)]) == MAX_CALLS
