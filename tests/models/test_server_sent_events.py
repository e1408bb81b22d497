"""Server-sent events: lines and events are bounded."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.models.conftest import Provider
from tests.models.kit import Setting


@pytest.fixture(params=["openai", "anthropic"])
async def setting(request: pytest.FixtureRequest, provider: Provider) -> AsyncIterator[Setting]:
    made = Setting(request.param, provider)
    yield made
    await made.model.aclose()


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


@pytest.mark.parametrize("value", [None, 7, "x", [], [None], {"type": 3}, {"choices": [[]]}, {"delta": 1}])
async def test_events_of_another_form_are_passed_over(setting: Setting, value: Any) -> None:
    odd = f"event: content_block_delta\ndata: {json.dumps(value)}\n\n".encode()
    setting.sends([odd, setting.events.text("Hello"), odd, setting.events.end()])
    assert (await setting.answer())[0] == "Hello"
