"""Spans: the names of the GenAI conventions, nested as the calls are, and nothing at all without a tracer."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.agent.kit import Stage, call
from tests.kit import ProbeTool
from toolgate.models import ModelUsage


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("toolgate.runtime.tracing.tracer", lambda: provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


def named(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_turn_its_requests_and_its_calls_are_spans(spans: InMemorySpanExporter) -> None:
    stage = await Stage.set([["a", call("probe"), ModelUsage(input_tokens=7, output_tokens=3)], "b"], ProbeTool())
    await stage.say()
    await stage.close()
    found = named(spans)
    assert set(found) == {"invoke_agent toolgate", "chat scripted", "execute_tool probe"}
    tool, turn = found["execute_tool probe"], found["invoke_agent toolgate"]
    assert attributes(tool) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "probe",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.conversation.id": stage.id,
        "toolgate.status": "success",
    }
    assert turn.context is not None
    assert all(span.parent is not None for name, span in found.items() if span is not turn)
    assert {span.parent.span_id for span in found.values() if span.parent} == {turn.context.span_id}
    chats = [attributes(span) for span in spans.get_finished_spans() if span.name == "chat scripted"]
    assert [chat["gen_ai.usage.input_tokens"] for chat in chats] == [7, 0]


async def test_what_failed_says_its_code(spans: InMemorySpanExporter) -> None:
    stage = await Stage.set([[call("nothing")]])
    await stage.say()
    await stage.close()
    found = named(spans)
    assert attributes(found["execute_tool nothing"])["error.type"] == "TOOL_NOT_FOUND"
    assert not found["execute_tool nothing"].status.is_ok
    assert "error.type" in attributes(found["invoke_agent toolgate"])


def test_without_a_tracer_nothing_is_imported() -> None:
    code = (
        "import asyncio, sys, toolgate\n"
        "async def main():\n"
        "    async with toolgate.open('.') as tools:\n"
        "        await tools.handle(toolgate.ToolCall(id='1', name='current_time', arguments='{}'))\n"
        "asyncio.run(main())\n"
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
