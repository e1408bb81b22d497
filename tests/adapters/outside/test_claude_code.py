"""Claude Code from npm uses Toolgate's tools: a read, a denial, a form, its own question, an interrupted command.

`claude -p` runs one task and asks nobody. With `--permission-prompt-tool stdio` it is driven as its SDK drives it: here
the test shows the forms. The settings are those of docs/clients/claude-code.md, with a script for a model.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import Sleeper
from tests.adapters.outside.agents import (
    LIMIT,
    READ,
    READ_LONG,
    REMOVE,
    TEXT,
    Driver,
    Json,
    Place,
    driving,
    page,
    place,
    run,
)
from tests.adapters.outside.conftest import Program
from tests.adapters.outside.model import Model, serving

pytestmark = [pytest.mark.outside, pytest.mark.timeout(400)]

OURS = {f"mcp__toolgate__{name}" for name in ("read_file", "write_file", "edit_file", "apply_patch", "Bash", "grep")}
DENIED = ["Bash", "Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "Agent", "Workflow"]
"""As docs/clients/claude-code.md has it."""
DRIVEN = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")


@pytest.fixture
async def claude(program: Program) -> str:
    """The program."""
    return str(await asyncio.to_thread(program, "claude-code"))


def _settle(at: Place, model: Model, *options: str, allow: bool = True, load: bool = True) -> dict[str, str]:
    """Write the settings; return the environment."""
    server = {**at.server(*options), **({"alwaysLoad": True} if load else {})}
    (at.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"toolgate": server}}))
    permissions: Json = {"deny": DENIED, **({"allow": ["mcp__toolgate"]} if allow else {})}
    at.write(".claude/settings.json", {"permissions": permissions, "enableAllProjectMcpServers": True})
    return at.environment(
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
        MCP_CONNECT_TIMEOUT_MS="60000",
        MCP_CONNECTION_NONBLOCKING="0",
    )


@asynccontextmanager
async def _driven(claude: str, at: Place, env: dict[str, str]) -> AsyncIterator[Driver]:
    """Claude Code as its SDK starts it, in the middle of a turn."""
    async with driving([claude, "-p", *DRIVEN, "--permission-prompt-tool", "stdio"], at, env) as agent:
        await agent.send(type="control_request", request_id="1", request={"subtype": "initialize"})
        await agent.send(type="user", message={"role": "user", "content": "do it"}, parent_tool_use_id=None)
        yield agent


async def _ask(agent: Driver) -> Json:
    """Wait for a request of the agent."""
    found = await agent.until(lambda message: message["type"] in ("control_request", "result"))
    assert found["type"] == "control_request", found
    return found


async def _reply(agent: Driver, question: Json, answer: Json) -> None:
    response = {"subtype": "success", "request_id": question["request_id"], "response": answer}
    await agent.send(type="control_response", response=response)


async def _end(agent: Driver) -> Json:
    """Wait for the end of the turn, in which nothing more may be asked."""
    found = await agent.until(lambda message: message["type"] in ("result", "control_request"))
    assert found["type"] == "result", found
    return found


async def test_claude_code_reads_and_is_told_the_rule_where_nobody_can_be_asked(claude: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([READ, REMOVE, READ_LONG]) as model:
        said = await run([claude, "-p", "do it"], at, _settle(at, model))
    assert model.offered >= OURS, said
    assert not set(DENIED) & model.offered
    read, denied, long = model.results
    assert TEXT in read
    assert 'words = ["rm", "a.txt"]' in denied
    assert at.has_file()
    assert f"use start_line={page(long).stop}" in long
    assert (await at.recorded())[:2] == [("read_file", None), ("Bash", "APPROVAL_DENIED")]


async def test_claude_code_shows_the_form_and_what_is_allowed_is_run(claude: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([REMOVE]) as model:
        async with _driven(claude, at, _settle(at, model)) as agent:
            form = await _ask(agent)
            assert form["request"]["subtype"] == "elicitation"
            assert "rm a.txt" in form["request"]["message"]
            assert form["request"]["requested_schema"]["properties"]["decision"]["default"] == "deny"
            assert at.has_file()
            await _reply(agent, form, {"action": "accept", "content": {"decision": "allow once"}})
            await _end(agent)
    assert not at.has_file()
    assert await at.recorded() == [("Bash", None)]


async def test_claude_code_asks_its_own_user_and_toolgate_does_not_ask_again(claude: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    with serving([REMOVE]) as model:
        async with _driven(claude, at, _settle(at, model, "--approvals", "client", allow=False)) as agent:
            question = await _ask(agent)
            assert question["request"]["subtype"] == "can_use_tool"
            assert question["request"]["input"] == {"command": "rm a.txt"}
            assert at.has_file()
            await _reply(agent, question, {"behavior": "allow", "updatedInput": question["request"]["input"]})
            await _end(agent)
    assert not at.has_file()


async def test_claude_code_interrupts_a_command_and_nothing_of_it_is_left(claude: str, tmp_path: Path) -> None:
    at, sleeper = place(tmp_path), Sleeper()
    with serving([("Bash", {"command": sleeper.command})]) as model:
        async with _driven(claude, at, _settle(at, model)) as agent:
            await sleeper.begun(LIMIT)
            await agent.send(type="control_request", request_id="2", request={"subtype": "interrupt"})
            await sleeper.gone()
            await _end(agent)
            assert await at.record_of("Bash") == "CANCELLED"


async def test_without_always_load_the_model_knows_only_the_names(claude: str, tmp_path: Path) -> None:
    at = place(tmp_path)
    search = ("ToolSearch", {"query": "select:mcp__toolgate__read_file", "max_results": 1})
    with serving([search], own="ToolSearch") as model:
        await run([claude, "-p", "do it"], at, _settle(at, model, load=False))
    first, second = (json.dumps(body) for _, body in model.requests)
    assert "mcp__toolgate__read_file" in first
    assert "Read a text file inside the project" not in first
    assert "Read a text file inside the project" in second
