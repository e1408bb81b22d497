"""OpenTelemetry spans under the names of its GenAI conventions. Nothing is imported, and nothing costs time, unless the
application has configured a tracer."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolCall, ToolResult
    from toolgate.runtime.pending import PendingResult

Run = Callable[["ToolCall", "PendingResult"], "ToolResult | Coroutine[Any, Any, ToolResult]"]


def tracer() -> Any:
    """The tracer, or None where nobody has configured any: whoever configures one has imported the package."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        return None
    return trace.get_tracer("toolgate")


def traced(run: Run, session_id: str | None) -> Run | None:
    """A pipeline's `run`, with a span for every call; None where there is no tracer."""
    found = tracer()
    if found is None:
        return None

    async def run_traced(call: ToolCall, pending: PendingResult) -> ToolResult:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
            **({} if session_id is None else {"gen_ai.conversation.id": session_id}),
        }
        with found.start_as_current_span(
            f"execute_tool {call.name}", attributes=attributes, record_exception=False
        ) as span:
            work = run(call, pending)
            result = await work if isinstance(work, Coroutine) else work
            span.set_attribute("toolgate.status", result.response.status.value)
            if result.response.error is not None:
                _failed(span, result.response.error.code.value)
            return result

    return run_traced


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
