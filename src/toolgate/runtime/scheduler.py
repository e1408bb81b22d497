"""Runs the calls of one turn: read-only ones at the same time, with the same results as one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.runtime.pending import PendingResult

if TYPE_CHECKING:
    from toolgate.runtime.toolset import CallableToolset

MAX_AT_ONCE = 16
"""Read-only calls that run side by side."""


async def run_calls(toolset: CallableToolset, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Results in call order. Neighbouring read-only calls run side by side; a writer runs alone, in its place."""
    results: list[ToolResult] = []
    group: list[ToolCall] = []
    for call in calls:
        if toolset.is_read_only(call.name):
            group.append(call)
            continue
        results += await _side_by_side(toolset, group)
        group = []
        results.append(await toolset.handle(call))
    return results + await _side_by_side(toolset, group)


async def _side_by_side(toolset: CallableToolset, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Run read-only calls at the same time. A failure does not affect the others; cancelling the turn stops all."""
    results: list[ToolResult] = []
    for start in range(0, len(calls), MAX_AT_ONCE):
        pending: list[PendingResult] = [toolset.handle(call) for call in calls[start : start + MAX_AT_ONCE]]
        results += await asyncio.gather(*pending)
    return results
