"""Deadlines of an answer: keep-alives are no progress, thinking is."""

import time
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.models.conftest import Provider
from tests.models.kit import Setting


@pytest.fixture(params=["openai", "anthropic"])
async def setting(request: pytest.FixtureRequest, provider: Provider) -> AsyncIterator[Setting]:
    made = Setting(request.param, provider)
    yield made
    await made.model.aclose()


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
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            yield setting.events.thought("hm")
            yield b""
        yield setting.events.text("Yes.")
        yield setting.events.end()

    setting.sends(parts())
    assert (await setting.answer(timeout=0.9))[0] == "Yes."


async def test_an_answer_has_to_end_in_time(setting: Setting) -> None:
    setting.sends(_dripping(setting.events.thought("hm")))
    error = await setting.failure(timeout=5, total_timeout=0.5)
    assert (error.code, "did not end within 0.5 seconds" in error.message) == ("MODEL_UNAVAILABLE", True)
