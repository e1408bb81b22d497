"""A change of what can be seen is told to every client, once."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.adapters.mcp_server.kit import code
from toolgate import ToolMode, ToolRegistry, tool
from toolgate.adapters.mcp_server import Clients, build_server
from toolgate.runtime.builtin import builtin_registry
from toolgate.workspace import Workspace


@tool(name="extra", modes=[ToolMode.coding], read_only=True)
def extra() -> str:
    """One more."""
    return "more"


async def _names(connected: Client) -> list[str]:
    return [one.name for one in (await connected.list_tools()).tools]


async def _told(registry: ToolRegistry, connected: Client, heard: asyncio.Queue[Any]) -> None:
    registry.register(extra)
    registry.set_mode_override("Bash", [])
    await asyncio.wait_for(heard.get(), 30)
    names = await _names(connected)
    assert "extra" in names
    assert "Bash" not in names
    registry.set_mode_override("extra", [ToolMode.coding])  # changes nothing that can be seen
    registry.unregister("extra")
    await asyncio.wait_for(heard.get(), 30)
    assert "extra" not in await _names(connected)
    assert heard.empty()
    assert code(await connected.call_tool("Bash", {"command": "true"})) == "MODE_DENIED"


async def test_clients_of_the_handshake_get_a_notification(tmp_path: Path) -> None:
    registry = builtin_registry()
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def handler(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.put_nowait(message)

    server = build_server(Clients(registry, ToolMode.coding, Workspace(tmp_path)))
    async with Client(server, mode="legacy", message_handler=handler) as connected:
        capabilities = connected.server_capabilities
        assert capabilities.tools is not None
        assert capabilities.tools.list_changed is True
        await _names(connected)
        await _told(registry, connected, heard)


async def test_clients_that_listen_get_an_event(tmp_path: Path) -> None:
    registry = builtin_registry()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    server = build_server(Clients(registry.filter(["ls", "Bash", "extra"]), ToolMode.coding, Workspace(tmp_path)))
    async with (
        Client(server, mode="auto", cache=None) as connected,
        connected.listen(tools_list_changed=True) as events,
    ):

        async def collect() -> None:
            async for event in events:
                heard.put_nowait(event)

        collecting = asyncio.create_task(collect())
        await _told(registry, connected, heard)
        collecting.cancel()
        await asyncio.wait([collecting])


async def test_a_change_in_another_thread_is_told(tmp_path: Path) -> None:
    registry = builtin_registry()
    heard = asyncio.Event()

    async def handler(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    server = build_server(Clients(registry, ToolMode.coding, Workspace(tmp_path)))
    async with Client(server, mode="legacy", message_handler=handler) as connected:
        await _names(connected)
        await asyncio.to_thread(registry.unregister, "ls")
        await asyncio.wait_for(heard.wait(), 30)


@pytest.mark.parametrize("ended", [True, False])
async def test_a_registry_outlives_its_servers(tmp_path: Path, ended: bool) -> None:
    registry = builtin_registry()
    server = build_server(Clients(registry, ToolMode.coding, Workspace(tmp_path)))
    if ended:
        async with Client(server, mode="legacy"):
            pass
    registry.unregister("ls")
    await asyncio.sleep(0)
    assert "ls" not in registry.names()
