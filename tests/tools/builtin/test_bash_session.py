"""The shell session behind `Bash`: its state, its restart, and one command at a time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate.testing import AutoApprover


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[Toolbox]:
    box = Toolbox(tmp_path)
    yield box
    await box.context.aclose()


async def test_state_carries_over_and_restart_clears_it(tools: Toolbox) -> None:
    (tools.root / "sub").mkdir()
    response = await tools("Bash", command="cd sub; A=1; f() { echo hi; }")
    assert response.context["cwd"] == "sub"
    assert (await tools("Bash", command="echo $A; f")).data["stdout"] == "1\nhi\n"
    response = await tools("Bash", restart=True)

    assert (response.status, response.text, response.context["cwd"]) == ("success", "The shell starts anew.", ".")
    assert (await tools("Bash", command="echo [$A]; type f")).data["stdout"] == "[]\n"


async def test_restart_comes_before_the_command(tools: Toolbox) -> None:
    (tools.root / "sub").mkdir()
    await tools("Bash", command="cd sub; A=1")
    response = await tools("Bash", command="echo [$A]; basename $PWD", restart=True)

    assert (response.data["stdout"], response.context["cwd"]) == (f"[]\n{tools.root.name}\n", ".")


async def test_a_command_after_a_restart_is_judged_by_the_state_that_it_will_find(tools: Toolbox) -> None:
    (tools.root / "x").write_text("x")
    await tools("Bash", command="rm() { :; }")
    asked = len(tools.approver.requests)
    await tools("Bash", command="rm x", restart=True)

    assert [request.summary for request in tools.approver.requests[asked:]] == ["Run: rm x"]


async def test_a_blank_command_without_restart_is_refused(tools: Toolbox) -> None:
    for arguments in ({}, {"command": ""}, {"command": " \n"}):
        result = await tools.result("Bash", **arguments)
        assert result.response.error is not None
        assert (result.response.error.code, result.extras["failureCategory"]) == ("INVALID_PARAM", "invalid_usage")
        assert "command: required unless restart is true" in result.message


async def test_without_a_workspace_nothing_runs() -> None:
    context = toolgate.ToolContext(mode=toolgate.ToolMode.coding, approver=AutoApprover())
    toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
    for command in ("ls", "read x", ""):
        call = toolgate.ToolCall(id="1", name="Bash", arguments=f'{{"command": "{command}", "restart": true}}')
        result = await toolset.handle(call)
        assert result.response.error is not None
        assert result.response.error.code == "EXECUTION_ERROR"
        assert "no workspace" in result.message


async def test_a_machine_without_a_sandbox_runs_no_command_and_agent_commands_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolgate.errors import ToolError

    def none(*_: object) -> Any:
        raise ToolError(toolgate.ErrorCode.EXECUTION_ERROR, "There is no sandbox here.", "Install bubblewrap.")

    monkeypatch.setattr("toolgate.shell.session.choose_layer", none)
    box = Toolbox(tmp_path)
    (tmp_path / "x").write_text("content\n")
    refused = await box("Bash", command="touch y")
    read = await box("Bash", command="read x")

    assert refused.error is not None
    assert (refused.error.code, (tmp_path / "y").exists()) == ("EXECUTION_ERROR", False)
    assert read.data["stdout"] == "     1\tcontent"


async def test_concurrent_commands_queue(tools: Toolbox) -> None:
    calls = [
        toolgate.ToolCall(id=str(number), name="Bash", arguments=f'{{"command": "echo {number} >> log"}}')
        for number in range(5)
    ]
    results = await asyncio.gather(*[tools.toolset.handle(call) for call in calls])

    assert [result.tool_call_id for result in results] == ["0", "1", "2", "3", "4"]
    assert (tools.root / "log").read_text() == "0\n1\n2\n3\n4\n"
