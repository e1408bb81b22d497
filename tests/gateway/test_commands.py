"""The commands that a composer offers."""

from pathlib import Path

from tests.gateway.kit import gateway, settings_for
from toolgate.testing import ScriptedModel


async def test_commands_are_those_that_this_gateway_has(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        commands = (await client.data("commands.list", session_id=await client.session()))["commands"]
        names = [command["name"] for command in commands]
        assert {"rewind", "fork", "diff", "undo", "export", "status"} <= set(names)
        assert all(command["description"] for command in commands)
