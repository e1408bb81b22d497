"""Planning a command: whatever it is, the event loop goes on meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.toolbox import Toolbox
from toolgate import ToolCall


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    (tmp_path / "many.sh").write_text("cd a; ls x/y > f\n" * 3000)
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


async def turns_meanwhile(tools: Toolbox, command: str) -> int:
    """How often the event loop went round while the command was judged."""
    call = ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command}))
    judged = asyncio.ensure_future(tools.toolset.explain(call))
    turns = 0
    while not judged.done():
        turns += 1
        await asyncio.sleep(0)
    assert judged.result().decision in ("ask", "allow")
    return turns


@pytest.mark.parametrize(
    "command",
    [
        "cd a; " * 1500,
        "bash many.sh",
        "ls; " * 5000,
        "".join(f"echo > f{n}; " for n in range(1500)),
        "\u00e9" * 100_000,
    ],
    ids=["directories", "script", "commands", "files", "text"],
)
async def test_no_command_holds_up_the_event_loop_before_permission(tools: Toolbox, command: str) -> None:
    assert await turns_meanwhile(tools, command) > 20


async def test_an_ordinary_command_is_judged_without_waiting_for_a_thread(tools: Toolbox) -> None:
    await tools.context.shell.choose_layer()  # the first command of a session waits for it
    assert await turns_meanwhile(tools, "cd src && pytest -q 2>&1 | tail -20") <= 5


async def test_a_long_command_runs_as_it_was_planned(tools: Toolbox) -> None:
    response = await tools("Bash", command="true; " * 700 + "echo done")
    assert response.data["stdout"] == "done\n"


async def test_thousands_of_aliases_and_functions_are_read_only_when_they_are_used(tools: Toolbox) -> None:
    define = 'for i in $(seq 2000); do alias a$i="ls x"; done; alias last="rm README.md"; f() { rm x; }'
    assert (await tools("Bash", command=define)).status == "success"
    reasons = [
        (await tools.toolset.explain(ToolCall(id="1", name="Bash", arguments=json.dumps({"command": command})))).reason
        for command in ("last", "f")
    ]
    assert all("it removes files" in reason for reason in reasons)
