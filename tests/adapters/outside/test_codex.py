"""Codex from npm uses Toolgate's tools: a read, a denial, a form, its own question, an interrupted command.

`codex exec` runs one task and asks nobody. `codex app-server` is what its apps drive: here the test is the app, and
shows the forms. The settings are those of docs/clients/codex.md, with a script for a model.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Sleeper
from tests.adapters.outside.agents import LIMIT, READ, REMOVE, TEXT, Driver, Place, driving, page, place, run
from tests.adapters.outside.conftest import Program
from tests.adapters.outside.model import Model, serving

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

OURS = {f"mcp__toolgate__{name}" for name in ("read_file", "write_file", "edit_file", "apply_patch", "Bash", "grep")}
OWN_OFF = """
web_search = "disabled"
sandbox_mode = "read-only"

[features]
shell_tool = false
unified_exec = false
view_image = false
multi_agent = false
goals = false
"""
"""As docs/clients/codex.md has it."""
KEPT = {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "request_user_input"}
"""Tools of its own that Codex keeps; none of them reads, writes or runs anything in the project."""


@pytest.fixture
async def codex(program: Program) -> str:
    """The program."""
    return str(await asyncio.to_thread(program, "codex"))


def _settle(at: Place, model: Model, *options: str, asks: str = "approve", name: str = "script") -> dict[str, str]:
    """Write the settings; return the environment."""
    server = at.server(*options)
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in server["env"].items())
    text = f"""
model = "{name}"
model_provider = "script"
check_for_update_on_startup = false
{OWN_OFF}
[analytics]
enabled = false

[model_providers.script]
name = "script"
base_url = "{model.url}/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"

[mcp_servers.toolgate]
command = {json.dumps(server["command"])}
args = {json.dumps(server["args"])}
env = {{ {env} }}
required = true
startup_timeout_sec = 60
tool_timeout_sec = 600
default_tools_approval_mode = "{asks}"
"""
    at.write(".codex/config.toml", text)
    return at.environment(SCRIPT_KEY="none")


@asynccontextmanager
async def _app(codex: str, at: Place, env: dict[str, str]) -> AsyncIterator[tuple[Driver, str, str]]:
    """Codex as its apps start it, in the middle of a turn: the agent, the thread and the turn."""
    async with driving([codex, "app-server", "--strict-config"], at, env) as agent:
        info = {"name": "test", "title": None, "version": "1"}
        await agent.request(1, "initialize", clientInfo=info, capabilities=None)
        await agent.send(method="initialized")
        begun = await agent.request(2, "thread/start", cwd=str(at.root), approvalPolicy="on-request")
        thread = begun["thread"]["id"]
        started = await agent.request(3, "turn/start", threadId=thread, input=[{"type": "text", "text": "do it"}])
        yield agent, thread, started["turn"]["id"]


async def test_codex_reads_and_is_told_the_rule_where_nobody_can_be_asked(codex: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE]) as model:
        env = _settle(at, model)
        said = await run([codex, "exec", "--strict-config", "--skip-git-repo-check", "do it"], at, env)
    assert model.offered >= OURS, said
    assert {name for name in model.offered if "toolgate" not in name} == KEPT
    read, denied = model.results
    assert TEXT in read
    assert 'words = ["rm", "a.txt"]' in denied
    assert at.has_file()
    assert await at.recorded() == [("read_file", None), ("Bash", "APPROVAL_DENIED")]


async def test_codex_shows_the_form_and_what_is_allowed_is_run(codex: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([REMOVE]) as model:
        async with _app(codex, at, _settle(at, model)) as (agent, _, _):
            form = await agent.question("mcpServer/elicitation/request")
            assert "rm a.txt" in form["params"]["message"]
            decision = form["params"]["requestedSchema"]["properties"]["decision"]
            assert (decision["enum"], decision["default"]) == (
                ["allow once", "allow for this session", "deny"],
                "deny",
            )
            assert at.has_file()
            answer = {"action": "accept", "content": {"decision": "allow once"}, "_meta": None}
            await agent.send(id=form["id"], result=answer)
            await agent.question("turn/completed")
    assert not at.has_file()
    assert await at.recorded() == [("Bash", None)]


async def test_codex_asks_its_own_user_and_toolgate_does_not_ask_again(codex: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([REMOVE]) as model:
        async with _app(codex, at, _settle(at, model, "--approvals", "client", asks="auto")) as (agent, _, _):
            question = await agent.question("mcpServer/elicitation/request")
            shown = question["params"]["_meta"]
            assert shown["codex_approval_kind"] == "mcp_tool_call"
            assert shown["tool_params"] == {"command": "rm a.txt"}
            assert at.has_file()
            await agent.send(id=question["id"], result={"action": "accept", "content": {}, "_meta": None})
            known = len(agent.seen)
            await agent.question("turn/completed")
            assert "mcpServer/elicitation/request" not in [message.get("method") for message in agent.seen[known:]]
    assert not at.has_file()


async def test_codex_interrupts_a_command_and_nothing_of_it_is_left(codex: str, tmp_path: Path) -> None:
    at, sleeper = place(tmp_path), Sleeper()
    with serving([("Bash", {"command": sleeper.command})]) as model:
        async with _app(codex, at, _settle(at, model)) as (agent, thread, turn):
            await sleeper.begun(LIMIT)
            await agent.request(4, "turn/interrupt", threadId=thread, turnId=turn)
            await sleeper.gone()
            assert await at.record_of("Bash") == "CANCELLED"


async def test_a_model_that_calls_tools_from_code_reads_the_same_text(codex: str, tmp_path: Path) -> None:
    """Codex gives its current models one tool that runs JavaScript; the tools of servers are functions in it."""
    at = place(tmp_path)
    script = [
        ("exec", {"input": "text(ALL_TOOLS.map(tool => tool.name).join(' '))"}),
        ("exec", {"input": "text((await tools.mcp__toolgate__read_file({path: 'a.txt'})).content[0].text)"}),
        ("exec", {"input": "text((await tools.mcp__toolgate__read_file({path: 'long.txt'})).content[0].text)"}),
    ]
    with serving(script, own="exec") as model:
        env = _settle(at, model, name="gpt-6.1-sol")
        await run([codex, "exec", "--strict-config", "--skip-git-repo-check", "do it"], at, env)
    known, read, long = model.results
    assert set(known.split()) >= OURS
    assert not {"exec_command", "write_stdin", "view_image"} & set(known.split())
    assert "apply_patch" in known.split(), "Codex keeps it; docs/clients/codex.md says so"
    assert TEXT in read
    assert f"use start_line={page(long).stop}" in long
    shown = json.dumps(model.requests[0][1])
    assert "mcp__toolgate: Read, search and edit the files of this project and run commands in it" in shown
