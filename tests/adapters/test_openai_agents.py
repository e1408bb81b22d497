"""The bridge to the OpenAI Agents SDK, with the real package and a model that plays a script."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Tool, ToolCallOutputItem, Usage
from agents.models.chatcmpl_converter import Converter
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.adapters.kit import bridged, denied_by_user
from tests.support.pictures import png
from toolgate import ToolMode
from toolgate.adapters.openai_agents import function_tools

pytestmark = pytest.mark.outside


class Scripted(Model):
    """Makes these calls in its first answer, and then says `done`."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self._calls = calls
        self.seen: list[list[str]] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        tools: list[Tool] = args[3] if len(args) > 3 else kwargs["tools"]
        self.seen.append([tool.name for tool in tools])
        if len(self.seen) == 1 and self._calls:
            output: list[Any] = [
                ResponseFunctionToolCall(type="function_call", call_id=f"id-{n}", name=name, arguments=arguments)
                for n, (name, arguments) in enumerate(self._calls)
            ]
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = [
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def outputs_of(agent: Agent[Any]) -> list[ToolCallOutputItem]:
    outcome = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    assert outcome.final_output == "done"
    return [item for item in outcome.new_items if isinstance(item, ToolCallOutputItem)]


async def test_a_call_is_answered_and_its_envelope_is_custom_data(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        model = Scripted(("grep", '{"pattern": "TODO"}'))
        agent = Agent(name="a", model=model, tools=list(function_tools(live.toolset())))
        (item,) = await outputs_of(agent)

    raw: Any = item.raw_item
    assert (raw["call_id"], "a.txt" in raw["output"]) == ("id-0", True)
    assert item.custom_data is not None
    assert item.custom_data["toolgate"]["data"]["matches"][0]["line"] == 2


async def test_the_model_sees_what_the_mode_allows(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        for mode in ToolMode:
            model = Scripted()
            await outputs_of(Agent(name="a", model=model, tools=list(function_tools(live.toolset(mode)))))
            assert model.seen == [[tool.name for tool in live.toolset(mode).tools]]


async def test_a_tool_that_is_taken_away_is_shown_no_more(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        model = Scripted()
        agent = Agent(name="a", model=model, tools=list(function_tools(live.toolset())))
        live.registry.set_mode_override("grep", [])
        await outputs_of(agent)

    assert "grep" not in model.seen[0]
    assert "read_file" in model.seen[0]


async def test_failures_reach_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    calls = [
        ("read_file", '{"path": "missing.txt"}'),
        ("read_file", '{"path": "a.txt", "path": "b.txt"}'),
        ("read_file", '{"nope": 1}'),
        ("break_down", "{}"),
    ]
    with bridged(tmp_path) as live:
        items = await outputs_of(Agent(name="a", model=Scripted(*calls), tools=list(function_tools(live.toolset()))))

    said = [str(item.output) for item in items]
    assert "missing.txt" in said[0]
    assert "duplicate key" in said[1]
    assert "nope" in said[2]
    assert "RuntimeError" in said[3]
    statuses = [item.custom_data["toolgate"]["status"] for item in items if item.custom_data]
    assert statuses == ["error"] * 4


async def test_a_person_is_asked_and_may_say_no(tmp_path: Path) -> None:
    write = ("write_file", json.dumps({"path": "new.txt", "content": "x"}))
    with bridged(tmp_path, allow=False) as live:
        (denied,) = await outputs_of(Agent(name="a", model=Scripted(write), tools=list(function_tools(live.toolset()))))
        exists = (tmp_path / "new.txt").exists()
    with bridged(tmp_path) as live:
        await outputs_of(Agent(name="a", model=Scripted(write), tools=list(function_tools(live.toolset()))))

    assert ("not approved" in str(denied.output), exists) == (True, False)
    assert (tmp_path / "new.txt").read_text() == "x"
    assert [request.call_id for request in live.approver.requests] == ["id-0"]


async def test_cancelling_the_run_stops_the_tool(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        agent = Agent(name="a", model=Scripted(("wait", '{"config": "x"}')), tools=list(function_tools(live.toolset())))
        run = asyncio.create_task(outputs_of(agent))
        await live.started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert live.ended


async def test_the_users_policy_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(
        name="a", model=Scripted(("ls", "{}")), tools=list(function_tools(denied_by_user(tmp_path, monkeypatch)))
    )
    outcome = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    outputs = [item.output for item in outcome.new_items if isinstance(item, ToolCallOutputItem)]
    assert "The policy denies this call: no listing" in outputs[0]


async def test_a_picture_reaches_the_model_as_an_image(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(png(30, 20))
    outputs: list[Any] = []
    with bridged(tmp_path) as live:
        for pictures in (True, False):
            tools = list(function_tools(live.toolset(), pictures=pictures))
            model = Scripted(("read_file", '{"path": "p.png"}'))
            (item,) = await outputs_of(Agent(name="a", model=model, tools=[*tools]))
            assert item.custom_data is not None
            assert item.custom_data["toolgate"]["status"] == "success"
            outputs.append(item.raw_item)

    text, picture = outputs[0]["output"]
    assert (text["type"], "p.png" in text["text"], picture["type"]) == ("input_text", True, "input_image")
    assert picture["image_url"].startswith("data:image/png;base64,iVBOR")
    assert "Not shown: p.png (30 × 20)" in outputs[1]["output"]
    (_, answer) = Converter.items_to_messages(
        [{"type": "function_call", "call_id": "id-0", "name": "read_file", "arguments": "{}"}, outputs[0]]
    )
    assert "p.png" in str(answer["content"]), "the Chat Completions API of the SDK keeps the text"
