"""What streams in is bounded while it streams: both clients over real HTTP, against servers that do not stop."""

import asyncio
import contextlib
import gc
import gzip
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Protocol

import pytest

from tests.models import test_anthropic as anthropic
from tests.models import test_openai as openai
from tests.models.conftest import Provider, _event
from toolgate import ToolCall
from toolgate.errors import ModelError
from toolgate.models import AnthropicModel, ModelRequest, OpenAIModel
from toolgate.models.tool_calls import MAX_ARGUMENTS_BYTES, MAX_CALLS

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
HELLO = ModelRequest([{"role": "user", "content": "Hello"}])
MIB = 1024 * 1024


class Dialect(Protocol):
    """The events of one provider."""

    def text(self, content: str) -> bytes: ...
    def call(self, index: int) -> bytes: ...
    def arguments(self, index: int, content: str) -> bytes: ...
    def thought(self, content: str) -> bytes: ...
    def end(self) -> bytes: ...


class OpenAI:
    keep_alive = b": keep-alive\n\n"
    empty = _event(openai.chunk(content=""))

    def text(self, content: str) -> bytes:
        return _event(openai.chunk(content=content))

    def call(self, index: int) -> bytes:
        return _event(openai.part(index, "", id=f"c{index}", name="t", type="function"))

    def arguments(self, index: int, content: str) -> bytes:
        return _event(openai.part(index, content))

    def thought(self, content: str) -> bytes:
        return _event(openai.chunk(reasoning_content=content))

    def end(self) -> bytes:
        return _event(openai.chunk("stop")) + openai.DONE.encode()


class Anthropic:
    keep_alive = b'event: ping\ndata: {"type": "ping"}\n\n'
    empty = _event(anthropic.text(0, ""))

    def text(self, content: str) -> bytes:
        return _event(anthropic.text(0, content))

    def call(self, index: int) -> bytes:
        return _event(anthropic.block(index, type="tool_use", id=f"c{index}", name="t", input={}))

    def arguments(self, index: int, content: str) -> bytes:
        return _event(anthropic.arguments(index, content))

    def thought(self, content: str) -> bytes:
        return _event(anthropic.delta(0, type="thinking_delta", thinking=content))

    def end(self) -> bytes:
        return b"".join(map(_event, anthropic.end("end_turn")))


DIALECTS = {"openai": OpenAI(), "anthropic": Anthropic()}


class Setting:
    """A client, its provider, and the provider's events."""

    def __init__(self, name: str, provider: Provider) -> None:
        self.name = name
        self.provider = provider
        self.events: Any = DIALECTS[name]
        self.model = self.client(timeout=5)

    def client(self, **options: Any) -> OpenAIModel | AnthropicModel:
        kind = OpenAIModel if self.name == "openai" else AnthropicModel
        return kind("m1", api_key="k", base_url=self.provider.url, **options)

    def sends(self, parts: Iterable[bytes | float]) -> None:
        def all_parts() -> Iterator[bytes | float]:
            yield HEAD
            yield from parts

        self.provider.answers.append(all_parts())

    async def answer(self, **options: Any) -> list[Any]:
        model = self.client(**options) if options else self.model
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(model.aclose)
            return [item async for item in model.stream(HELLO)]

    async def failure(self, **options: Any) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await self.answer(**options)
        return caught.value


@pytest.fixture(params=["openai", "anthropic"])
async def setting(request: pytest.FixtureRequest, provider: Provider) -> AsyncIterator[Setting]:
    made = Setting(request.param, provider)
    yield made
    await made.model.aclose()


def of(number: int, event: bytes) -> Iterator[bytes]:
    """So many events, in larger writes, as a server under load sends them."""
    while number > 0:
        yield event * min(number, 500)
        number -= 500


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
    await asyncio.wait_for(setting.provider.hung_up.wait(), 5)
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
        await setting.answer(timeout=5)
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


@pytest.mark.parametrize("line", [b"data: ", b": ", b"", b"event: "], ids=["data", "comment", "nothing", "name"])
async def test_a_line_without_an_end_is_refused(setting: Setting, line: bytes) -> None:
    def parts() -> Iterator[bytes]:
        yield line
        while True:
            yield b"x" * 65_536

    setting.sends(parts())
    error = await setting.failure()
    assert (error.code, error.retryable) == ("MODEL_PROTOCOL", True)


@pytest.mark.parametrize("line", [b"data: x\n", b"data:\n", b": comment\n", b"\xef\n"])
async def test_an_event_of_very_many_lines_is_refused_at_linear_cost(setting: Setting, line: bytes) -> None:
    def parts() -> Iterator[bytes]:
        while True:
            yield line * 5_000

    setting.sends(parts())
    before = time.thread_time()
    assert (await setting.failure()).code == "MODEL_PROTOCOL"
    assert time.thread_time() - before < 5


@pytest.mark.parametrize("silent", ["keep_alive", "empty"])
async def test_a_stream_of_keep_alives_has_a_deadline(setting: Setting, silent: str) -> None:
    setting.sends(_dripping(getattr(setting.events, silent)))
    error = await setting.failure(timeout=0.2)
    assert (error.code, error.retryable) == ("MODEL_UNAVAILABLE", True)


def _dripping(event: bytes) -> Iterator[bytes | float]:
    while True:
        yield event
        yield b""


async def test_keep_alives_before_an_answer_are_no_harm(setting: Setting) -> None:
    setting.sends([*[setting.events.keep_alive] * 50, setting.events.text("Hello"), setting.events.end()])
    assert (await setting.answer())[0] == "Hello"


async def test_thinking_is_progress(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield setting.events.thought("hm")
            yield b""
        yield setting.events.text("Yes.")
        yield setting.events.end()

    setting.sends(parts())
    assert (await setting.answer(timeout=0.2))[0] == "Yes."


async def test_an_answer_has_to_end_in_time(setting: Setting) -> None:
    setting.sends(_dripping(setting.events.thought("hm")))
    error = await setting.failure(timeout=5, total_timeout=0.5)
    assert (error.code, "did not end within 0.5 seconds" in error.message) == ("MODEL_UNAVAILABLE", True)


async def test_headers_that_drip_have_a_deadline(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        while True:
            yield b"HTTP/1.1 100 Continue\r\n\r\n"
            yield b""

    setting.provider.answers.append(parts())
    assert (await setting.failure(timeout=0.2)).code == "MODEL_UNAVAILABLE"


async def test_headers_without_an_end_are_refused(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            yield b"x-more: " + b"x" * 4_000 + b"\r\n"

    setting.provider.answers.append(parts())
    assert (await setting.failure()).code == "MODEL_UNAVAILABLE"


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b'{"choices": [{"delta": {"content": "\xc3"}}]}', b"[" * 100_000, b"1" * 5_000, b"{", b"NaN"],
    ids=["no-utf8", "half-utf8", "deep", "long-number", "half-json", "nan"],
)
async def test_what_is_no_answer_is_an_error_of_the_provider_and_tried_again(setting: Setting, data: bytes) -> None:
    setting.sends([b"event: content_block_delta\ndata: " + data + b"\n\n"])
    error = await setting.failure()
    assert error.retryable
    assert error.code in ("MODEL_PROTOCOL", "MODEL_UNAVAILABLE")


@pytest.mark.parametrize("value", [None, 7, "x", [], [None], {"type": 3}, {"choices": [[]]}, {"delta": 1}])
async def test_events_of_another_form_are_passed_over(setting: Setting, value: Any) -> None:
    odd = f"event: content_block_delta\ndata: {json.dumps(value)}\n\n".encode()
    setting.sends([odd, setting.events.text("Hello"), odd, setting.events.end()])
    assert (await setting.answer())[0] == "Hello"


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(setting: Setting) -> None:
    setting.sends([setting.events.text("Hel")])
    error = await setting.failure()
    assert (error.code, error.retryable) == ("MODEL_UNAVAILABLE", True)


async def test_a_server_that_says_something_after_the_end_is_not_waited_for(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        yield setting.events.text("Hello") + setting.events.end()
        while True:
            yield setting.events.keep_alive

    setting.sends(parts())
    assert (await asyncio.wait_for(setting.answer(), 5))[0] == "Hello"


async def test_an_error_with_an_endless_body_is_cut(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        yield b"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
        while True:
            yield b"sorry " * 10_000

    setting.provider.answers.append(parts())
    error = await setting.failure()
    assert (error.code, error.retryable, len(error.message) < 1_000) == ("MODEL_UNAVAILABLE", True, True)


async def test_a_compressed_answer_was_not_asked_for_and_is_not_unpacked(setting: Setting) -> None:
    bomb = gzip.compress(setting.events.text("x" * 1_000_000) * 50)
    head = HEAD.replace(b"connection", b"content-encoding: gzip\r\nconnection")
    setting.provider.answers.append([head + bomb])
    assert (await setting.failure()).code == "MODEL_PROTOCOL"
    assert setting.provider.headers[-1]["accept-encoding"] == "identity"


async def test_what_is_not_kept_takes_no_memory(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(200):
            yield setting.events.thought("x" * 131_072)
        yield setting.events.text("Done.")
        yield setting.events.end()

    setting.sends([setting.events.text("x"), setting.events.end()])
    await setting.answer(timeout=5)
    setting.sends(parts())
    tracemalloc.start()
    try:
        assert "Done." in await setting.answer(timeout=5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB


async def test_others_run_while_a_flood_comes_in(setting: Setting) -> None:
    """The longest time that another task waits, against events that the client only has to pass over."""
    longest = 0.0

    async def other() -> None:
        nonlocal longest
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)

    setting.sends([setting.events.text("x"), setting.events.end()])
    await setting.answer(timeout=5)
    setting.sends([setting.events.keep_alive * 100_000, setting.events.text("x"), setting.events.end()])
    gc.disable()  # a collection takes as long as everything that other tests have left
    task = asyncio.create_task(other())
    await setting.answer(timeout=5)
    task.cancel()
    gc.enable()
    assert longest < 0.1
