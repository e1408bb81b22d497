"""The budget of messages that a server may send: a burst passes, then it waits."""

import asyncio

import pytest

from toolgate.adapters.mcp_client.limits import MessageRateLimit


async def test_a_budget_lets_a_burst_through_and_then_makes_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def noted(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", noted)
    budget = MessageRateLimit(burst=20, per_second=0.001)

    for _ in range(20):
        await budget.acquire()
    burst = list(waits)
    await budget.acquire()

    assert burst == []
    assert waits == [pytest.approx(1000, rel=0.2)]
