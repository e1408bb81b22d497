"""Numbers for Prometheus count what happens."""

import asyncio
from pathlib import Path

from tests.gateway.kit import (
    BEARER,
    PATIENCE,
    call,
    gateway,
    settings_for,
    web_client,
)
from toolgate.testing import ScriptedModel


async def test_metrics_count_what_happens(tmp_path: Path) -> None:
    model = ScriptedModel([[call("current_time"), call("read_file", '{"path": "x"}', "c2")], "Done."])
    async with gateway(settings_for(tmp_path, coding=False), model) as running, web_client() as web:
        address = f"http://{running.address}/metrics"
        assert (await web.get(address)).status_code == 401
        async with running.client() as client:
            await client.turn(await client.session())
            numbers = ""
            async with asyncio.timeout(PATIENCE):  # the end is told from the log, and counted a moment later
                while 'toolgate_turns_total{ending="done"} 1.0' not in numbers:
                    numbers = (await web.get(address, headers=BEARER)).text
        assert "toolgate_connections 1.0" in numbers
        assert 'toolgate_tool_calls_total{status="success",tool="current_time"} 1.0' in numbers
        assert 'toolgate_tool_calls_total{status="denied",tool="read_file"} 1.0' in numbers
        assert 'toolgate_requests_total{method="chat.send"} 1.0' in numbers
