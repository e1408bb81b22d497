"""What streams in is bounded while it streams: both clients over real HTTP, against servers that do not stop."""

import asyncio
import gc
import time
import traceback
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import pytest

from tests.models.conftest import Provider
from tests.models.kit import HELLO, SDK_VARIABLES, WAYS, Setting
from toolgate.errors import ModelError

MIB = 1024 * 1024


class Dialect(Protocol):
    """The events of one provider."""

    def text(self, content: str) -> bytes: ...
    def call(self, index: int) -> bytes: ...
    def arguments(self, index: int, content: str) -> bytes: ...
    def thought(self, content: str) -> bytes: ...
    def end(self) -> bytes: ...


@pytest.fixture(params=WAYS)
async def setting(
    request: pytest.FixtureRequest, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Setting]:
    name, _, way = request.param.partition(", ")
    if way:
        monkeypatch.setenv(SDK_VARIABLES[name], "x-test: 1")
    made = Setting(name, provider)
    yield made
    await made.model.aclose()


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


async def test_a_key_that_the_server_repeats_is_masked(setting: Setting) -> None:
    key, failed = "sk-secret-0123456789", []
    said = f"Incorrect API key provided: {key}"
    setting.provider.fails(401, said)
    setting.sends([b'event: error\ndata: {"type": "error", "error": {"message": "' + said.encode() + b'"}}\n\n'])
    for _ in range(2):
        model = type(setting.model)("m1", api_key=key, base_url=setting.provider.url, timeout=5)
        with pytest.raises(ModelError) as caught:
            [item async for item in model.stream(HELLO)]
        await model.aclose()
        failed.append("".join(traceback.format_exception(caught.value)))
    assert [("[redacted]" in text, key in text) for text in failed] == [(True, False)] * 2


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
    assert (await asyncio.wait_for(setting.answer(), 60))[0] == "Hello"


async def test_what_is_not_kept_takes_no_memory(setting: Setting) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(200):
            yield setting.events.thought("x" * 131_072)
        yield setting.events.text("Done.")
        yield setting.events.end()

    setting.sends([setting.events.text("x"), setting.events.end()])
    await setting.answer(timeout=60)
    setting.sends(parts())
    tracemalloc.start()
    try:
        assert "Done." in await setting.answer(timeout=60)
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
    await setting.answer(timeout=60)
    setting.sends([setting.events.keep_alive * 100_000, setting.events.text("x"), setting.events.end()])
    gc.disable()  # a collection takes as long as everything that other tests have left
    task = asyncio.create_task(other())
    await setting.answer(timeout=60)
    task.cancel()
    gc.enable()
    assert longest < 0.1
