"""OpenTelemetry spans under the names of its GenAI conventions. Nothing is imported, and nothing costs time, unless the
application has configured a tracer."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from toolgate.protocol.calls import ToolCall, ToolResult

if TYPE_CHECKING:
    from toolgate.runtime.pending import PendingResult, Work


def tracer() -> Any:
    """The tracer, or None if none is configured. A program that configures one has imported the package."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        return None
    return trace.get_tracer("toolgate")


class TracedWork:
    """Handles calls as another `Work` does, each within its span."""

    def __init__(self, work: Work, tracer: Any, session_id: str | None) -> None:
        self._work = work
        self._tracer = tracer
        self._session = {} if session_id is None else {"gen_ai.conversation.id": session_id}

    async def run(self, call: ToolCall, pending: PendingResult) -> ToolResult:
        """Handle the call within its span."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
            **self._session,
        }
        name = f"execute_tool {call.name}"
        with self._tracer.start_as_current_span(name, attributes=attributes, record_exception=False) as span:
            begun = self._work.run(call, pending)
            result = begun if isinstance(begun, ToolResult) else await begun
            span.set_attribute("toolgate.status", result.response.status.value)
            if result.response.error is not None:
                _failed(span, result.response.error.code.value)
            return result

    def cancelled(self, pending: PendingResult) -> Coroutine[Any, Any, ToolResult]:
        """As the other work does."""
        return self._work.cancelled(pending)

    def broken(self, pending: PendingResult, error: BaseException) -> Coroutine[Any, Any, ToolResult]:
        """As the other work does."""
        return self._work.broken(pending, error)


def traced(work: Work, session_id: str | None) -> Work:
    """The work with a span per call; the work itself if the application has configured no tracer."""
    found = tracer()
    return work if found is None else TracedWork(work, found, session_id)


class Span:
    """A span to which attributes and a failure can be added; does nothing without a tracer."""

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
