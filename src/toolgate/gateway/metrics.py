"""Prometheus metrics: counted as plain integers, and converted only when they are requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate.agent import ToolDenied, ToolResultInfo, TurnDone, TurnFailed

if TYPE_CHECKING:
    from toolgate.agent import AgentEvent
    from toolgate.gateway.service import Service


@dataclass(slots=True)
class Counts:
    """Counters of this process."""

    turns: Counter[str] = field(default_factory=Counter)
    """Turns by result: `done`, or the error code."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls by tool and status; `denied` if the mode did not allow the call."""
    tokens: Counter[str] = field(default_factory=Counter)
    """Tokens: `input` and `output`."""
    refused: Counter[int] = field(default_factory=Counter)
    """Refused sockets by status."""
    requests: Counter[str] = field(default_factory=Counter)
    """Client requests by method."""

    def event(self, event: AgentEvent) -> None:
        """Count one event of a turn."""
        if isinstance(event, ToolResultInfo):
            self.calls[event.tool_name, event.result.response.status.value] += 1
        elif isinstance(event, ToolDenied):
            self.calls[event.tool_name, "denied"] += 1
        elif isinstance(event, TurnDone):
            self.turns["done"] += 1
            self.tokens["input"] += event.usage.input_tokens
            self.tokens["output"] += event.usage.output_tokens
        elif isinstance(event, TurnFailed):
            self.turns[event.code] += 1


def render_metrics(service: Service) -> tuple[bytes, str]:
    """Return the metrics in Prometheus' text format and its content type. Raises `ImportError` without the package."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(service))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Collector:
    """Reads the counters of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Any]:
        """Yield all metrics."""
        from prometheus_client.core import GaugeMetricFamily

        service, counts = self._service, self._service.counts
        yield GaugeMetricFamily("toolgate_connections", "Connected clients.", len(service.connections))
        yield GaugeMetricFamily("toolgate_watched_sessions", "Sessions with watchers.", len(service.channels))
        yield GaugeMetricFamily("toolgate_turns_running", "Turns running in this process.", service.running)
        yield _counter("toolgate_turns", "Finished turns.", "ending", counts.turns)
        yield _counter("toolgate_tokens", "Tokens, as counted by the providers.", "direction", counts.tokens)
        yield _counter("toolgate_refused", "Refused sockets.", "status", counts.refused)
        yield _counter("toolgate_requests", "Client requests.", "method", counts.requests)
        yield _calls(counts.calls)


def _counter(name: str, help_text: str, label: str, values: Counter[Any]) -> Any:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, help_text, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([str(key)], value)
    return family


def _calls(values: Counter[tuple[str, str]]) -> Any:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily("toolgate_tool_calls", "Finished tool calls.", labels=["tool", "status"])
    for key, value in sorted(values.items()):
        family.add_metric(list(key), value)
    return family
