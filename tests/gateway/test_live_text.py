"""What a command prints comes while it runs."""

from pathlib import Path

from tests.gateway.kit import call, gateway, is_done, is_type, settings_for, types
from toolgate.testing import ScriptedModel


async def test_what_a_command_prints_comes_while_it_runs(tmp_path: Path) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "echo one; sleep 0.3; echo two"}')], "ok"])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await client.data("session.subscribe", session_id=session, details=True)
        frames = await client.turn(session)
        printed = [frame["data"] for frame in frames if frame["type"] == "tool_output"]
        assert "".join(piece["text"] for piece in printed) == "one\ntwo\n"
        kinds = types(frames)
        assert kinds.index("tool_call") < kinds.index("tool_output") < kinds.index("tool_result")


async def test_who_comes_while_a_command_runs_sees_what_it_prints_from_then_on(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    model = ScriptedModel([[call("Bash", '{"command": "until [ -e go ]; do echo waiting; sleep 0.1; done"}')], "ok"])
    async with gateway(settings, model) as running:
        async with running.client() as client:
            session = await client.session("coding")
            await client.data("session.subscribe", session_id=session, details=True)
            await client.send("chat.send", session_id=session, content="wait")
            seen = await client.until(is_type("tool_output"))
        last = max(frame.get("seq", 0) for frame in seen)
        for after in (0, last):  # a page that is opened, and one that comes back; nobody watches meanwhile
            async with running.client() as late:
                await late.data("session.subscribe", session_id=session, details=True, after_seq=after)
                frames = await late.until(is_type("tool_output"))
                assert frames[-1]["data"]["text"].startswith("waiting\n")
                assert ("tool_call" in types(frames)) is (after == 0)
        async with running.client() as client:
            await client.data("session.subscribe", session_id=session, after_seq=last)
            (Path(settings.workspace.root) / "go").touch()
            await client.until(is_done)
