"""Kimi Code from npm uses Toolgate's tools: a read, a denial, its own question, an interrupted command.

`kimi -p` runs one task and asks nobody. `kimi acp` is what editors drive: here the test is the editor. Kimi Code shows
no forms. The settings are those of docs/clients/kimi-code.md, with a script for a model.
"""

import asyncio
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Sleeper
from tests.adapters.outside.agents import LIMIT, READ, READ_LONG, REMOVE, TEXT, Place, driving, page, place, run
from tests.adapters.outside.conftest import Program
from tests.adapters.outside.editor import connect
from tests.adapters.outside.model import Model, serving

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

OURS = {f"mcp__toolgate__{name}" for name in ("read_file", "write_file", "edit_file", "apply_patch", "Bash", "grep")}
OFF = {"Bash", "Read", "Write", "Edit", "Grep", "Glob", "Agent", "AgentSwarm"}
AGENT = f"""---
name: toolgate
description: Works with the tools of Toolgate.
disallowedTools: [{", ".join(sorted(OFF))}]
---
Work in the project with the tools whose names begin with mcp__toolgate__.
"""
"""As docs/clients/kimi-code.md has it."""


@pytest.fixture
async def kimi(program: Program) -> str:
    """The program."""
    return str(await asyncio.to_thread(program, "kimi-code"))


def _settle(at: Place, model: Model, *options: str) -> dict[str, str]:
    """Write the settings; return the environment."""
    text = f"""
default_model = "script"
telemetry = false

[providers.script]
type = "openai"
base_url = "{model.url}/v1"
api_key = "none"

[models.script]
provider = "script"
model = "script"
max_context_size = 200000
"""
    at.write(".kimi-code/config.toml", text)
    server = {**at.server(*options), "startupTimeoutMs": 60_000, "toolTimeoutMs": 600_000}
    at.write(".kimi-code/mcp.json", {"mcpServers": {"toolgate": server}})
    at.write(".kimi-code/agents/toolgate.md", AGENT)
    return at.environment(KIMI_CODE_NO_AUTO_UPDATE="1", KIMI_DISABLE_TELEMETRY="1")


async def test_kimi_reads_is_told_the_rule_and_is_allowed_by_it(kimi: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE, READ_LONG]) as model:
        env = _settle(at, model)
        said = await run([kimi, "--agent", "toolgate", "-p", "do it"], at, env)
        assert model.offered >= OURS, said
        assert not OFF & model.offered
        read, denied, long = model.results
        assert TEXT in read
        assert "it needs permission and nobody can be asked here" in denied
        assert at.has_file()
        assert f"use start_line={page(long).stop}" in long
        assert (await at.recorded())[:2] == [("read_file", None), ("Bash", "APPROVAL_DENIED")]

        at.allow(denied)
        await run([kimi, "--agent", "toolgate", "-p", "do it"], at, env)
    assert not at.has_file()


async def test_kimi_asks_its_own_user_and_toolgate_does_not_ask_again(kimi: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE]) as model:
        async with driving([kimi, "acp"], at, _settle(at, model, "--approvals", "client")) as agent:
            editor = await connect(agent, at)
            await editor.begin()
            read, command = await editor.answer("allow_once", "allow_once")
            assert (read["title"], command["title"]) == ("mcp__toolgate__read_file", "mcp__toolgate__Bash")
            assert "rm a.txt" not in str(command), "its question names the tool only; docs/clients/kimi-code.md says so"
            assert await editor.end() == "end_turn"
    assert TEXT in model.results[0]
    assert not at.has_file()


async def test_what_kimis_user_rejects_is_not_run(kimi: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([REMOVE]) as model:
        async with driving([kimi, "acp"], at, _settle(at, model, "--approvals", "client")) as agent:
            editor = await connect(agent, at)
            await editor.begin()
            await editor.answer("reject_once")
            await editor.end()
    assert at.has_file()


async def test_kimi_cancels_a_command_and_nothing_of_it_is_left(kimi: str, tmp_path: Path) -> None:
    at, sleeper = place(tmp_path), Sleeper()
    with serving([("Bash", {"command": sleeper.command})]) as model:
        async with driving([kimi, "acp"], at, _settle(at, model)) as agent:
            editor = await connect(agent, at)
            await editor.begin()
            await editor.answer("allow_once")
            await sleeper.begun(LIMIT)
            await editor.cancel()
            assert await editor.end() == "cancelled"
            await sleeper.gone()
            assert await at.record_of("Bash") == "CANCELLED"
