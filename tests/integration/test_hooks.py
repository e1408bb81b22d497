"""Hooks of the user end to end: `toolgate chat --print` as a program, the gateway, and `toolgate mcp`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.adapters.mcp_server.kit import client, code, text
from tests.gateway.kit import call, gateway, settings_for
from tests.support.scripted_server import serving
from toolgate.testing import ScriptedModel

GUARD = "grep -q secret-word && { echo not this >&2; exit 2; }; exit 0"


def write_hooks(directory: Path, **hooks: str) -> None:
    """`hooks.json` in the user's config directory."""
    groups = {event: [{"hooks": [{"type": "command", "command": script}]}] for event, script in hooks.items()}
    (directory / "toolgate").mkdir(parents=True)
    (directory / "toolgate" / "hooks.json").write_text(json.dumps({"hooks": groups}))


def test_in_a_chat_that_prints(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    write_hooks(
        tmp_path / "config",
        turn_start="cat > ../start.json; echo be brief",
        PreToolUse=GUARD,
        after_call="cat > ../after.json",
        Stop="cat > ../end.json",
    )
    calls: list[list[str | float | dict[str, Any]]] = [
        [{"call": "Bash", "arguments": {"command": "echo secret-word > made"}}],
        [{"call": "ls", "arguments": {"path": "."}}],
        ["Nothing was made."],
    ]
    with serving(calls) as server:
        done = subprocess.run(
            [sys.executable, "-m", "toolgate", "chat", "--coding", "--model", "m", "--print", "go"],
            cwd=root,
            env={
                **os.environ,
                **server.environment,
                "XDG_CONFIG_HOME": str(tmp_path / "config"),
                "XDG_DATA_HOME": str(tmp_path / "data"),
            },
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        asked = server.requests
    assert (done.returncode, done.stdout) == (0, "Nothing was made.\n"), done.stderr
    assert asked[0]["messages"][-1]["content"] == "go\n\n[A hook of the user: be brief]"
    assert "not this" in asked[1]["messages"][-1]["content"]
    assert not (root / "made").exists()
    assert json.loads((tmp_path / "start.json").read_text())["prompt"] == "go"
    assert json.loads((tmp_path / "after.json").read_text())["tool_name"] == "ls"
    end = json.loads((tmp_path / "end.json").read_text())
    assert (end["status"], end["last_assistant_message"]) == ("done", "Nothing was made.")


async def test_in_the_gateway(tmp_path: Path) -> None:
    write_hooks(
        tmp_path / "config", UserPromptSubmit=GUARD, PreToolUse=GUARD, turn_end="cat >> ../ends; echo >> ../ends"
    )
    settings = settings_for(tmp_path).model_copy(update={"user_directory": tmp_path / "config" / "toolgate"})
    model = ScriptedModel([[call("grep", '{"pattern": "secret-word"}')], ["Denied."]])
    async with gateway(settings, model) as running, running.client() as connected:
        session = await connected.session("coding")
        first = await connected.turn(session, "hello")
        second = await connected.turn(session, "the secret-word")
    denied = [frame for frame in first if "not this" in json.dumps(frame)]
    assert denied
    assert "A hook of the user denied this turn: not this." in json.dumps(second)
    assert len(model.requests) == 2
    statuses = [json.loads(line)["status"] for line in (tmp_path / "ends").read_text().splitlines()]
    assert statuses == ["done", "failed"]


async def test_over_mcp(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    write_hooks(tmp_path / "home" / "config", PreToolUse=GUARD)
    async with client(root) as connected:
        denied = await connected.call_tool("grep", {"pattern": "secret-word"})
        control = await connected.call_tool("grep", {"pattern": "one"})
    assert (code(denied), "A hook of the user denied this call: not this." in text(denied)) == ("APPROVAL_DENIED", True)
    assert not control.is_error
