"""Numbers for Prometheus: counted as plain integers, turned into metrics only when they are asked for."""

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
    """What has happened in this process."""

    turns: Counter[str] = field(default_factory=Counter)
    """How turns ended: `done`, or the code of what went wrong."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tool and status; `denied` where the mode did not allow it."""
    tokens: Counter[str] = field(default_factory=Counter)
    """`input` and `output`."""
    refused: Counter[int] = field(default_factory=Counter)
    """Sockets that were not let in, by status."""
    requests: Counter[str] = field(default_factory=Counter)
    """Requests of clients, by method."""

    def event(self, event: AgentEvent) -> None:
        """Count what a turn tells."""
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


def rendered(service: Service) -> tuple[bytes, str]:
    """The metrics in Prometheus' text form, and its content type; `ImportError` without prometheus-client."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(service))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Collector:
    """Reads the counts of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Any]:
        """All metrics, as they are now."""
        from prometheus_client.core import GaugeMetricFamily

        service, counts = self._service, self._service.counts
        yield GaugeMetricFamily("toolgate_connections", "Clients that are connected.", len(service.connections))
        yield GaugeMetricFamily("toolgate_watched_sessions", "Sessions that are being watched.", len(service.channels))
        yield GaugeMetricFamily("toolgate_turns_running", "Turns that run in this process.", service.running)
        yield _counter("toolgate_turns", "Turns that have ended.", "ending", counts.turns)
        yield _counter("toolgate_tokens", "Tokens, as providers count them.", "direction", counts.tokens)
        yield _counter("toolgate_refused", "Sockets that were not let in.", "status", counts.refused)
        yield _counter("toolgate_requests", "Requests of clients.", "method", counts.requests)
        yield _calls(counts.calls)


def _counter(name: str, what: str, label: str, values: Counter[Any]) -> Any:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, what, labels=[label])
    for key, value in sorted(values.items()):
        family.add_metric([str(key)], value)
    return family


def _calls(values: Counter[tuple[str, str]]) -> Any:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily("toolgate_tool_calls", "Tool calls that have ended.", labels=["tool", "status"])
    for key, value in sorted(values.items()):
        family.add_metric(list(key), value)
    return family
