"""opencode from npm uses Toolgate's tools: a read, a denial, what a policy rule allows, an interrupted command.

`opencode run` runs one task and asks nobody; it shows no forms, so the denial names the rule, and the second run has
that rule in the user's policy. `opencode acp` is what editors drive: here the test is the editor. The settings are of
docs/clients/opencode.md, with a script for a model.
"""

import asyncio
import json
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Sleeper
from tests.adapters.outside.agents import LIMIT, READ, READ_LONG, REMOVE, TEXT, Place, driving, page, place, run
from tests.adapters.outside.conftest import Program
from tests.adapters.outside.editor import connect
from tests.adapters.outside.model import Model, serving

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

OURS = {f"toolgate_{name}" for name in ("read_file", "write_file", "edit_file", "apply_patch", "Bash", "grep")}
OFF = ("bash", "edit", "write", "patch", "read", "grep", "glob", "task")
"""As docs/clients/opencode.md has it."""


@pytest.fixture
async def opencode(program: Program) -> str:
    """The program."""
    return str(await asyncio.to_thread(program, "opencode"))


def _settle(at: Place, model: Model) -> dict[str, str]:
    """Return the environment, with the settings in it."""
    server = at.server()
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/script",
        "small_model": "scripted/script",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
                "models": {"script": {"tool_call": True, "limit": {"context": 100_000, "output": 4_000}}},
            }
        },
        "tools": dict.fromkeys(OFF, False),
        "mcp": {
            "toolgate": {
                "type": "local",
                "command": [server["command"], *server["args"]],
                "environment": server["env"],
                "enabled": True,
                "timeout": 120_000,
            }
        },
    }
    return at.environment(
        OPENCODE_CONFIG_CONTENT=json.dumps(settings),
        OPENCODE_DISABLE_AUTOUPDATE="1",
        OPENCODE_DISABLE_MODELS_FETCH="1",
    )


async def test_opencode_reads_is_denied_and_then_allowed_by_the_rule_that_it_was_told(
    opencode: str, tmp_path: Path
) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE, READ_LONG]) as model:
        env = _settle(at, model)
        said = await run([opencode, "run", "do it", "--print-logs"], at, env)
        assert model.offered >= OURS, said
        assert not set(OFF) & model.offered
        read, denied, long = model.results
        assert TEXT in read
        assert "This call was not approved: it needs permission and nobody can be asked here" in denied
        assert at.has_file()
        assert f"use start_line={page(long).stop}" in long
        assert (await at.recorded())[:2] == [("read_file", None), ("Bash", "APPROVAL_DENIED")]

        at.allow(denied)
        await run([opencode, "run", "do it", "--print-logs"], at, env)
    assert not at.has_file()


async def test_opencode_cancels_a_command_and_nothing_of_it_is_left(opencode: str, tmp_path: Path) -> None:
    at, sleeper = place(tmp_path), Sleeper()
    with serving([("Bash", {"command": sleeper.command})]) as model:
        async with driving([opencode, "acp"], at, _settle(at, model)) as agent:
            editor = await connect(agent, at)
            await editor.begin()
            await sleeper.begun(LIMIT)
            await editor.cancel()
            await sleeper.gone()
            assert await at.record_of("Bash") == "CANCELLED"
