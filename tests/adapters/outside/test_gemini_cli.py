"""Gemini CLI from npm uses Toolgate's tools: a read, a denial, its own question, an interrupted command.

`gemini -p` runs one task and asks nobody. `gemini --acp` is what editors drive: here the test is the editor. Gemini CLI
shows no forms. The settings are those of docs/clients/gemini-cli.md, with a script for a model.
"""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Sleeper
from tests.adapters.outside.agents import LIMIT, READ, READ_LONG, REMOVE, TEXT, Place, driving, page, place, run
from tests.adapters.outside.conftest import Program
from tests.adapters.outside.editor import connect
from tests.adapters.outside.model import Model, serving

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

OURS = {f"mcp_toolgate_{name}" for name in ("read_file", "write_file", "edit_file", "apply_patch", "Bash", "grep")}
ONLY_OURS = {"core": ["google_web_search"]}
"""As docs/clients/gemini-cli.md has it, with the policy file below."""
POLICY = """
[[rule]]
mcpName = "toolgate"
toolName = "*"
decision = "allow"
priority = 900
"""


@pytest.fixture
async def gemini(program: Program) -> list[str]:
    """The program, with a model whose name it does not look up."""
    return [str(await asyncio.to_thread(program, "gemini-cli")), "-m", "gemini-2.5-flash"]


def _settle(at: Place, model: Model, *options: str, tools: dict[str, list[str]]) -> dict[str, str]:
    """Write the settings; return the environment."""
    quiet = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
    servers = {"toolgate": {**at.server(*options), "timeout": 600_000}}
    login = {"auth": {"selectedType": "gemini-api-key"}}
    at.write(".gemini/settings.json", {**quiet, "security": login, "mcpServers": servers, "tools": tools})
    if tools == ONLY_OURS:
        at.write(".gemini/policies/toolgate.toml", POLICY)
    return at.environment(
        GOOGLE_GEMINI_BASE_URL=model.url,
        GEMINI_API_KEY="none",
        GEMINI_CLI_TRUST_WORKSPACE="true",
        GEMINI_CLI_NO_RELAUNCH="true",  # else it runs in a child, which a signal does not reach
    )


async def test_gemini_reads_and_is_told_the_rule_where_nobody_can_be_asked(gemini: list[str], tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE, READ_LONG]) as model:
        env = _settle(at, model, tools=ONLY_OURS)
        said = await run([*gemini, "-p", "do it"], at, env)
        assert model.offered >= OURS, said
        assert {name for name in model.offered if "toolgate" not in name} == {"google_web_search"}
        read, denied, long = model.results
        assert TEXT in read
        assert "it needs permission and nobody can be asked here" in denied
        assert at.has_file()
        assert f"use start_line={page(long).stop}" in long
        assert (await at.recorded())[:2] == [("read_file", None), ("Bash", "APPROVAL_DENIED")]

        at.write(
            "config/toolgate/policy.toml", '[[rule]]\ntool = "Bash"\nwords = ["rm", "a.txt"]\ndecision = "allow"\n'
        )
        await run([*gemini, "-p", "do it"], at, env)
    assert not at.has_file()


async def test_gemini_asks_its_own_user_and_toolgate_does_not_ask_again(gemini: list[str], tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE]) as model:
        excluded = ["run_shell_command", "replace", "write_file"]
        env = _settle(at, model, "--approvals", "client", tools={"exclude": excluded})
        async with driving([*gemini, "--acp"], at, env) as agent:
            editor = await connect(agent, at)
            await editor.begin()
            _, command = await editor.answer("allow_once", "allow_once")
            assert '{"command":"rm a.txt"}' in str(command)
            assert await editor.end() == "end_turn"
    assert TEXT in model.results[0]
    assert not at.has_file()
    assert not {*excluded, "mcp_toolgate_write_file"} & model.offered, "a tool of ours with the same name goes with it"
    assert {*OURS} - {"mcp_toolgate_write_file"} <= model.offered


async def test_a_command_goes_on_after_a_cancelled_turn_and_ends_with_gemini(gemini: list[str], tmp_path: Path) -> None:
    """Gemini CLI does not tell a server that a call was cancelled."""
    at, sleeper = place(tmp_path), Sleeper()
    with serving([("Bash", {"command": sleeper.command})]) as model:
        env = _settle(at, model, "--approvals", "client", tools={})
        async with driving([*gemini, "--acp"], at, env) as agent:
            editor = await connect(agent, at)
            await editor.begin()
            await editor.answer("allow_once")
            await sleeper.begun(LIMIT)
            await editor.cancel()
            assert await editor.end() == "cancelled"
            assert sleeper.processes()
            agent.process.send_signal(signal.SIGTERM)
            await sleeper.gone()
            assert await at.record_of("Bash") == "CANCELLED"
