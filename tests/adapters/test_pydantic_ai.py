"""The bridge to pydantic-ai, with the real package and its own test models."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, BinaryContent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from tests.adapters.kit import bridged, denied_by_user
from tests.support.pictures import png
from toolgate import ToolMode
from toolgate.adapters.pydantic_ai import ToolgateToolset

pytestmark = pytest.mark.outside


def scripted(*calls: tuple[str, Any]) -> FunctionModel:
    """A model that makes these calls in one step, and then says `done`."""

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(
            parts=[ToolCallPart(name, arguments, tool_call_id=f"id-{n}") for n, (name, arguments) in enumerate(calls)]
        )

    return FunctionModel(answer)


async def returns_of(agent: Agent[Any, Any], prompt: str = "go") -> list[ToolReturnPart]:
    outcome = await agent.run(prompt)
    assert outcome.output == "done"
    return [part for message in outcome.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]


async def test_a_call_is_answered_and_its_envelope_is_the_metadata(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        agent = Agent(scripted(("grep", '{"pattern": "TODO"}')), toolsets=[ToolgateToolset(live.toolset())])
        (part,) = await returns_of(agent)

    assert (part.tool_call_id, part.outcome) == ("id-0", "success")
    assert "a.txt" in str(part.content)
    assert part.metadata["data"]["matches"][0]["line"] == 2
    assert part.metadata["context"]["params_input"] == {"pattern": "TODO"}


async def test_the_model_sees_what_the_mode_allows(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([tool.name for tool in info.function_tools])
        return ModelResponse(parts=[TextPart("done")])

    with bridged(tmp_path) as live:
        for mode in ToolMode:
            await Agent(FunctionModel(answer), toolsets=[ToolgateToolset(live.toolset(mode))]).run("go")
        expected = [[tool.name for tool in live.toolset(mode).tools] for mode in ToolMode]

    assert seen == expected
    assert "write_file" not in expected[0]


async def test_failures_reach_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    calls = [
        ("read_file", '{"path": "missing.txt"}'),
        ("read_file", '{"path": '),
        ("read_file", '{"path": "a.txt", "path": "b.txt"}'),
        ("read_file", {"nope": 1}),
        ("break_down", "{}"),
    ]
    with bridged(tmp_path) as live:
        agent = Agent(scripted(*calls), toolsets=[ToolgateToolset(live.toolset())])
        parts = await returns_of(agent)

    assert [part.outcome for part in parts] == ["failed"] * 5
    said = [str(part.content) for part in parts]
    assert "missing.txt" in said[0]
    assert "Invalid parameters" in said[1]
    assert "duplicate key" in said[2]
    assert "nope" in said[3]
    assert "RuntimeError" in said[4]


async def test_a_person_is_asked_and_may_say_no(tmp_path: Path) -> None:
    write = ("write_file", json.dumps({"path": "new.txt", "content": "x"}))
    with bridged(tmp_path, allow=False) as live:
        (denied,) = await returns_of(Agent(scripted(write), toolsets=[ToolgateToolset(live.toolset())]))
        exists = (tmp_path / "new.txt").exists()
    with bridged(tmp_path) as live:
        (allowed,) = await returns_of(Agent(scripted(write), toolsets=[ToolgateToolset(live.toolset())]))

    assert (denied.outcome, "not approved" in str(denied.content), exists) == ("failed", True, False)
    assert (allowed.outcome, (tmp_path / "new.txt").read_text()) == ("success", "x")
    assert [request.call_id for request in live.approver.requests] == ["id-0"]


async def test_cancelling_the_run_stops_the_tool(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        agent = Agent(scripted(("wait", '{"config": "x"}')), toolsets=[ToolgateToolset(live.toolset())])
        run = asyncio.create_task(agent.run("go"))
        await live.started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert live.ended


async def test_the_frameworks_own_test_model_can_use_every_schema(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        model = TestModel(call_tools=["grep", "ls", "current_time", "todo", "edit_file"])
        agent = Agent(model, toolsets=[ToolgateToolset(live.toolset())])
        outcome = await agent.run("go")

    assert "current_time" in str(outcome.output)


async def test_the_users_policy_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolset = ToolgateToolset(denied_by_user(tmp_path, monkeypatch))
    (returned,) = await returns_of(Agent(scripted(("ls", {})), toolsets=[toolset]))
    assert "The policy denies this call: no listing" in str(returned.content)


async def test_a_picture_reaches_the_model_as_binary_content(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(png(30, 20))
    with bridged(tmp_path) as live:
        seen, named = (
            Agent(
                scripted(("read_file", '{"path": "p.png"}')),
                toolsets=[ToolgateToolset(live.toolset(), pictures=pictures)],
            )
            for pictures in (True, False)
        )
        ((part,), (told,)) = await returns_of(seen), await returns_of(named)

    assert isinstance(part.content, list)
    text, picture = part.content
    assert "p.png" in str(text)
    assert isinstance(picture, BinaryContent)
    assert (picture.media_type, picture.is_image, picture.data[:4]) == ("image/png", True, b"\x89PNG")
    assert "Not shown: p.png (30 × 20)" in str(told.content)
