"""A turn during which the database fails: a model that waits for the test, and what has to come of the turn."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.gateway.kit import Gateway, gateway, is_done, text_of, types
from toolgate.models import ModelRequest
from toolgate.settings import Settings

ANSWER = "The answer that nobody may lose."


class Held:
    """A model that says something, waits for the test, and goes on; `calls` come before the text."""

    name = "held"

    def __init__(self, *calls: Any) -> None:
        self.calls = list(calls)
        self.reached = asyncio.Event()
        self.free = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        if self.calls:
            yield self.calls.pop(0)
            return
        yield ANSWER[:10]
        self.reached.set()
        await self.free.wait()
        yield ANSWER[10:]


async def finished(running: Gateway, session: str) -> dict[str, Any]:
    """The end of the session's last turn, once it is in the log."""
    async with asyncio.timeout(60):
        async with contextlib.aclosing(running.service.feed.follow(session, 0)) as events:
            async for event in events:
                if event.kind == "turn_finished":
                    return dict(event.payload)
    raise AssertionError("no end")


async def check_outage(
    settings: Settings, fault: Callable[[Gateway], contextlib.AbstractAsyncContextManager[None]], reason: str
) -> None:
    """The turn ends at once, says why, blocks nothing, and is recorded with the answer when the fault is over."""
    model = Held()
    async with gateway(settings, model) as running, running.client() as client:
        session = await client.session()
        await client.send("chat.send", session_id=session, content="Hello")
        await model.reached.wait()
        async with fault(running):
            model.free.set()
            frames = await client.until(is_done)  # while the fault lasts
            assert text_of(frames) == ANSWER
            assert types(frames)[-2:] == ["error", "stream_chunk"]
            assert reason in frames[-2]["data"]["message"]
            refused = await client.ask("chat.send", session_id=session, content="And now?")
            assert refused["type"] == "error"
            assert "lease" not in refused["data"]["message"]
        end = await finished(running, session)
        assert (end["status"], end["code"]) == ("failed", "STORE_ERROR")
        assert reason in end["message"]
        assert await client.silent()  # the end is told once
        stored = await client.data("chat.history", session_id=session)
        assert [message["content"] for message in stored["messages"]] == ["Hello", ANSWER]
        after = await client.turn(session, "Again")
        assert types(after)[-1] == "stream_chunk"
        assert "error" not in types(after)
