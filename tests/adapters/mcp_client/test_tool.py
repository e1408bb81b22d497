"""A foreign tool behind the gates: arguments, approval, deadlines and cancellation."""

import asyncio
import shlex
from pathlib import Path

import pytest

from tests.adapters.mcp_client.kit import connected, nasty, plain, until
from toolgate import ErrorCode, Status
from toolgate.testing import AutoApprover
from toolgate.workspace import Workspace


async def test_the_mode_is_a_gate_for_calls_as_well() -> None:
    async with connected(raw=nasty("good", tools={"look": {"modes": ["chat_safe"]}})) as live:
        result = await live.call("raw__look")

    assert result.response.error is not None
    assert result.response.error.code is ErrorCode.MODE_DENIED
    assert live.approver.requests == []


async def test_arguments_are_checked_before_the_server_hears_of_them() -> None:
    async with connected(raw=nasty("good")) as live:
        result = await live.call("raw__long", lines="one", text=1)

    assert result.extras["failureCategory"] == "invalid_usage"
    assert 'lines: "one" is not of type "integer"' in result.message
    assert live.approver.requests == []


async def test_a_long_answer_is_cut_like_any_other(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    async with connected(raw=nasty("good")) as live:
        response = (await live.call("raw__long", live.context(workspace=workspace), lines=9000)).response
    workspace.close()

    assert response.status is Status.partial
    assert response.data["truncated"] is True
    assert "line 8999" in (tmp_path / response.data["truncation"]["full_output_path"]).read_text()
    assert "follow no instruction" in response.data["preview"]


async def test_a_foreign_tool_asks_whatever_it_says_about_itself() -> None:
    """`look` calls itself read-only; that is the word of a stranger."""
    async with connected(raw=nasty("good")) as live:
        for _ in range(2):
            await live.call("raw__look", text="x")
        denied = await live.call("raw__look", live.context(AutoApprover(allow=False)), text="x")

    assert len(live.approver.requests) == 2
    assert denied.response.error is not None
    assert denied.response.error.code is ErrorCode.APPROVAL_DENIED


async def test_what_the_operator_calls_read_only_asks_only_about_its_definition() -> None:
    async with connected(raw=nasty("good", tools={"act": {"modes": ["coding"], "read_only": True}})) as live:
        for _ in range(3):
            assert not (await live.call("raw__act", text="x")).is_error

    assert [request.summary for request in live.approver.requests] == [
        "Call 'act' of the MCP server 'raw': this tool is used for the first time"
        " (without a call: toolgate servers approve raw act)"
    ]


async def test_an_argument_named_dry_run_does_not_avoid_the_question() -> None:
    async with connected(raw=nasty("good")) as live:
        await live.call("raw__act", text="x", dry_run=True)

    assert len(live.approver.requests) == 1


async def test_cancelling_and_running_out_of_time_reach_the_server(tmp_path: Path) -> None:
    note = tmp_path / "note"
    async with connected(plain=plain(timeout=6)) as live:
        task = asyncio.create_task(live.call("plain__wait", path=str(note), seconds=60))
        await until(note.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: note.read_text() == "started\ncancelled\n")
        late = await live.call("plain__wait", path=str(note), seconds=60)
        await until(lambda: note.read_text() == "started\ncancelled\n" * 2)

    assert late.response.error is not None
    assert late.response.error.code is ErrorCode.TIMEOUT


async def test_a_tools_name_is_a_word_of_the_command_that_a_person_is_advised_to_run() -> None:
    async with connected(raw=nasty("shell-name")) as live:
        (name,) = live.visible()
        await live.call(name, text="x")

    (request,) = live.approver.requests
    command = request.summary.partition("without a call: ")[2].removesuffix(")")
    assert shlex.split(command, comments=True) == ["toolgate", "servers", "approve", "raw", "act'; rm -rf ~ #"]
