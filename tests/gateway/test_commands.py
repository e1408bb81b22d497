"""The commands that a composer offers."""

from pathlib import Path

from tests.gateway.kit import gateway, is_done, settings_for
from toolgate.testing import ScriptedModel


async def test_commands_are_those_that_this_gateway_has(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        commands = (await client.data("commands.list", session_id=await client.session()))["commands"]
        names = [command["name"] for command in commands]
        assert {"rewind", "fork", "diff", "undo", "export", "status"} <= set(names)
        assert all(command["description"] for command in commands)


async def test_commands_from_files_are_offered_and_sent_as_messages(tmp_path: Path) -> None:
    folder = tmp_path / "root/.toolgate/commands"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("---\ndescription: Fixes it\n---\nFix issue $1.")
    (folder / "undo.md").write_text("not this one: the gateway has its own")
    model = ScriptedModel(["Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        commands = (await client.data("commands.list", session_id=session))["commands"]
        assert [one for one in commands if one.get("own")] == [{"name": "fix", "description": "Fixes it", "own": True}]
        await client.send("chat.send", session_id=session, content="/fix 12")
        await client.until(is_done)
        assert model.requests[0].messages[-1]["content"] == "Fix issue 12."
