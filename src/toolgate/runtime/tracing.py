"""OpenTelemetry spans under the names of its GenAI conventions. Nothing is imported, and nothing costs time, unless the
application has configured a tracer."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolCall, ToolResult


def tracer() -> Any:
    """The tracer, or None if none is configured. A program that configures one has imported the package."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        return None
    return trace.get_tracer("toolgate")


class CallTracing:
    """Makes one span per call."""

    def __init__(self, tracer: Any, session_id: str | None) -> None:
        self._tracer = tracer
        self._session = {} if session_id is None else {"gen_ai.conversation.id": session_id}

    async def traced(self, call: ToolCall, work: Awaitable[ToolResult]) -> ToolResult:
        """Do the work of one call within its span."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
            **self._session,
        }
        name = f"execute_tool {call.name}"
        with self._tracer.start_as_current_span(name, attributes=attributes, record_exception=False) as span:
            result = await work
            span.set_attribute("toolgate.status", result.response.status.value)
            if result.response.error is not None:
                _failed(span, result.response.error.code.value)
            return result


def tracing_of(session_id: str | None) -> CallTracing | None:
    """What makes the spans of a session's calls; None if the application has configured no tracer."""
    found = tracer()
    return None if found is None else CallTracing(found, session_id)


class Span:
    """What is said about a span while it lasts."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def note(self, **attributes: Any) -> None:
        """Add attributes; `__` in a name stands for a point."""
        if self._span is not None:
            for name, value in attributes.items():
                self._span.set_attribute(name.replace("__", "."), value)

    def failed(self, code: str) -> None:
        """Say that it failed, and why."""
        if self._span is not None:
            _failed(self._span, code)


@contextlib.contextmanager
def span(operation: str, subject: str, **attributes: Any) -> Iterator[Span]:
    """A span named `operation subject`; `__` in the name of an attribute stands for a point."""
    found = tracer()
    if found is None:
        yield _NOWHERE
        return
    with found.start_as_current_span(f"{operation} {subject}".strip(), record_exception=False) as current:
        opened = Span(current)
        opened.note(gen_ai__operation__name=operation, **attributes)
        yield opened


_NOWHERE = Span()


def _failed(span: Any, code: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR, code))
