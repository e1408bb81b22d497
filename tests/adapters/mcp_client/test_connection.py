"""The connection to a server that hangs, dies or floods: a clear answer, and it comes back."""

import asyncio
import time
from pathlib import Path

from tests.adapters.mcp_client.kit import connected, nasty, until
from toolgate import ErrorCode, ToolMode


async def test_a_call_that_hangs_ends_at_its_deadline_and_the_server_with_the_block() -> None:
    async with connected(raw=nasty("hang", timeout=1)) as live:
        result = await live.call("raw__act")

    assert result.response.error is not None
    assert result.response.error.code is ErrorCode.TIMEOUT


async def test_a_server_that_dies_in_mid_call_is_answered_for_and_comes_back() -> None:
    async with connected(raw=nasty("die")) as live:
        first = await live.call("raw__act")
        await until(lambda: not live.connection.problem)
        second = await live.call("raw__act")

    for result in (first, second):
        assert result.response.error is not None
        assert result.response.error.code is ErrorCode.INTERNAL_ERROR
        assert "check before you repeat it" in result.response.text


async def test_a_dead_server_opens_the_breaker_and_closes_it_when_it_is_back(tmp_path: Path) -> None:
    """Its program cannot start for a while: calls are refused at once, and work again without anybody's doing."""
    script = tmp_path / "server.py"
    source = Path(__file__).parents[1] / "servers" / "nasty.py"
    script.write_text(source.read_text())
    server = nasty("die", tools={"*": {"modes": ["coding"]}})
    server["args"][0] = str(script)
    async with connected(raw=server) as live:
        context = live.context()
        script.write_text("raise SystemExit(9)")
        await live.call("raw__act", context)
        await until(lambda: live.connection.resting > 0)
        began = time.monotonic()
        refused = await live.call("raw__act", context)
        took = time.monotonic() - began
        toolset = live.registry.toolset(ToolMode.coding, context)
        shown = [tool.name for tool in toolset.tools] + live.registry.get_tools_schema(ToolMode.coding)
        script.write_text(source.read_text().replace('HOW == "die"', 'HOW == "never"'))
        await until(lambda: not live.connection.problem)
        back = await live.call("raw__act", context)

    assert refused.response.error is not None
    assert refused.response.error.code is ErrorCode.CIRCUIT_OPEN
    assert "exit code 9" in refused.message
    assert (took < 5, shown, back.is_error) == (True, [], False)


async def test_a_flood_of_notifications_is_taken_slowly_and_the_call_is_answered(tmp_path: Path) -> None:
    """3000 unasked messages: a burst is taken in, the rest waits in the server's own pipe."""
    count = tmp_path / "count"
    async with connected(raw=nasty("flood", str(count))) as live:
        call = asyncio.create_task(live.call("raw__act"))
        await until(lambda: count.exists() and count.stat().st_size >= 500, seconds=40)
        await asyncio.sleep(2)
        assert count.stat().st_size < 2000
        assert not call.done()
        call.cancel()
        await asyncio.wait([call])
