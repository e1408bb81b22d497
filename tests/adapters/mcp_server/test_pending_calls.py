"""Calls that wait for a person: each state belongs to one call and works once."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.adapters.mcp_server.kit import answering, code, near
from toolgate.adapters.mcp_server.pending_calls import APPROVAL_KEY

WRITE = {"path": "new.txt", "content": "hello\n"}


async def _asked(connected: Client, arguments: dict[str, Any]) -> types.InputRequiredResult:
    result = await connected.session.call_tool("write_file", arguments, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    return result


async def _repeated(connected: Client, arguments: dict[str, Any], state: str | None, action: Any = "accept") -> Any:
    said: dict[str, Any] | None = {"decision": "allow once"} if action == "accept" else None
    answers: dict[str, Any] = {}
    if action is not None:
        answers[APPROVAL_KEY] = types.ElicitResult(action=action, content=said)
    return await connected.session.call_tool(
        "write_file", arguments, input_responses=answers, request_state=state, allow_input_required=True
    )


async def test_a04_a_state_works_once(root: Path) -> None:
    async with near(root, era="auto", elicitation_callback=answering()) as connected:
        asked = await _asked(connected, WRITE)
        assert not (await _repeated(connected, WRITE, asked.request_state)).is_error
        with pytest.raises(MCPError, match="requestState"):
            await _repeated(connected, WRITE, asked.request_state)


async def test_a03_a_state_belongs_to_its_call(root: Path) -> None:
    async with near(root, era="auto", elicitation_callback=answering()) as connected:
        asked = await _asked(connected, WRITE)
        for arguments, state in (({**WRITE, "content": "evil"}, asked.request_state), (WRITE, "made up")):
            with pytest.raises(MCPError, match="requestState"):
                await _repeated(connected, arguments, state)
        assert not (root / "new.txt").exists()
        assert not (await _repeated(connected, WRITE, asked.request_state)).is_error
    assert (root / "new.txt").read_text() == "hello\n"


async def test_an_answer_that_is_missing_is_asked_for_again(root: Path) -> None:
    async with near(root, era="auto", elicitation_callback=answering()) as connected:
        asked = await _asked(connected, WRITE)
        again = await _repeated(connected, WRITE, asked.request_state, action=None)
        assert isinstance(again, types.InputRequiredResult)
        assert again.request_state != asked.request_state
        assert not (await _repeated(connected, WRITE, again.request_state)).is_error


async def test_a05_what_changed_while_the_person_thought_is_a_conflict(root: Path) -> None:
    change = {"path": "a.txt", "content": "two\n"}
    async with near(root, era="auto", elicitation_callback=answering()) as connected:
        asked = await _asked(connected, change)
        (root / "a.txt").write_text("somebody else's\n")
        result = await _repeated(connected, change, asked.request_state)
    assert code(result) == "CONFLICT"
    assert (root / "a.txt").read_text() == "somebody else's\n"


async def test_a02_a_state_that_nobody_comes_back_with_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.adapters.mcp_server.pending_calls.DEFAULT_TIMEOUT", 0.2)
    async with near(root, era="auto", elicitation_callback=answering()) as connected:
        asked = await _asked(connected, WRITE)
        await asyncio.sleep(0.4)
        with pytest.raises(MCPError, match="requestState"):
            await _repeated(connected, WRITE, asked.request_state)
    assert not (root / "new.txt").exists()
