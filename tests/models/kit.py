"""Both clients against one provider on loopback, for streams of any shape."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.models import test_anthropic as anthropic
from tests.models import test_openai as openai
from tests.models.conftest import Provider, _event
from toolgate.errors import ModelError
from toolgate.models import AnthropicModel, ModelRequest, OpenAIModel

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


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
WAYS = ["openai", "anthropic", "openai, SDK", "anthropic, SDK"]
"""Both providers, over both kinds of connection."""
SDK_VARIABLES = {"openai": "OPENAI_ORG_ID", "anthropic": "ANTHROPIC_CUSTOM_HEADERS"}
"""With these set, the SDK makes the connection."""


class Setting:
    """A client, its provider, and the provider's events."""

    def __init__(self, name: str, provider: Provider) -> None:
        self.name = name
        self.provider = provider
        self.events: Any = DIALECTS[name]
        self.model = self.client(timeout=60)

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


HELLO = ModelRequest([{"role": "user", "content": "Hello"}])


def of(number: int, event: bytes) -> Iterator[bytes]:
    """So many events, in larger writes, as a server under load sends them."""
    while number > 0:
        yield event * min(number, 500)
        number -= 500
