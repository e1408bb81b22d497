"""The bridge to LangChain, with the real package: its agent, its tool node, and a model that plays a script."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from tests.adapters.kit import Bridged, bridged, denied_by_user
from tests.support.pictures import png
from toolgate import ToolMode
from toolgate.adapters.langchain import langchain_tools

pytestmark = pytest.mark.outside


class Scripted(BaseChatModel):
    """Makes these calls in its first answer, and then says `done`."""

    calls: list[tuple[str, dict[str, Any]]] = []
    seen: list[list[str]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        self.seen.append([convert_to_openai_tool(tool)["function"]["name"] for tool in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if any(isinstance(message, ToolMessage) for message in messages) or not self.calls:
            message = AIMessage("done")
        else:
            message = AIMessage(
                "",
                tool_calls=[
                    {"name": name, "args": arguments, "id": f"id-{n}", "type": "tool_call"}
                    for n, (name, arguments) in enumerate(self.calls)
                ],
            )
        return ChatResult(generations=[ChatGeneration(message=message)])


def agent_of(
    live: Bridged, *calls: tuple[str, dict[str, Any]], mode: ToolMode = ToolMode.coding
) -> tuple[Any, Scripted]:
    model = Scripted(calls=list(calls), seen=[])
    return create_agent(model, tools=langchain_tools(live.toolset(mode))), model


async def messages_of(agent: Any) -> list[ToolMessage]:
    outcome = await agent.ainvoke({"messages": [{"role": "user", "content": "go"}]})
    assert outcome["messages"][-1].content == "done"
    return [message for message in outcome["messages"] if isinstance(message, ToolMessage)]


async def test_a_call_is_answered_and_its_envelope_is_the_artifact(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        (message,) = await messages_of(agent_of(live, ("grep", {"pattern": "TODO"}))[0])

    assert (message.tool_call_id, message.status) == ("id-0", "success")
    assert "a.txt" in str(message.content)
    assert message.artifact["data"]["matches"][0]["line"] == 2


async def test_the_model_sees_what_the_mode_allows(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        for mode in ToolMode:
            agent, model = agent_of(live, mode=mode)
            await messages_of(agent)
            assert model.seen[-1] == [tool.name for tool in live.toolset(mode).tools]


async def test_failures_reach_the_model_and_the_run_goes_on(tmp_path: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": "missing.txt"}),
        ("read_file", {"nope": 1}),
        ("read_file", {"path": 3, "self": 1, "config": 2, "run_manager": 4}),
        ("break_down", {}),
    ]
    with bridged(tmp_path) as live:
        messages = await messages_of(agent_of(live, *calls)[0])

    assert [message.status for message in messages] == ["error"] * 4
    said = [str(message.content) for message in messages]
    assert "missing.txt" in said[0]
    assert "nope" in said[1]
    assert "run_manager" in said[2]
    assert "RuntimeError" in said[3]
    assert [message.artifact["error"]["code"] for message in messages] == [
        "NOT_FOUND",
        "INVALID_PARAM",
        "INVALID_PARAM",
        "INTERNAL_ERROR",
    ]


async def test_a_person_is_asked_and_may_say_no(tmp_path: Path) -> None:
    write = ("write_file", {"path": "new.txt", "content": "x"})
    with bridged(tmp_path, allow=False) as live:
        (denied,) = await messages_of(agent_of(live, write)[0])
        exists = (tmp_path / "new.txt").exists()
    with bridged(tmp_path) as live:
        (allowed,) = await messages_of(agent_of(live, write)[0])

    assert (denied.status, "not approved" in str(denied.content), exists) == ("error", True, False)
    assert (allowed.status, (tmp_path / "new.txt").read_text()) == ("success", "x")
    assert [request.call_id for request in live.approver.requests] == ["id-0"]


async def test_cancelling_the_run_stops_the_tool(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        run = asyncio.create_task(messages_of(agent_of(live, ("wait", {"config": "x"}))[0]))
        await live.started.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    assert live.ended


async def test_a_tool_alone_is_called_with_its_arguments(tmp_path: Path) -> None:
    with bridged(tmp_path) as live:
        tools = {tool.name: tool for tool in langchain_tools(live.toolset())}
        found = await tools["read_file"].ainvoke({"path": "a.txt"})
        failed = await tools["read_file"].ainvoke({"path": "missing.txt"})

    assert ("two TODO" in found, "missing.txt" in failed) == (True, True)


def test_calling_it_synchronously_says_what_to_do(tmp_path: Path) -> None:
    async def made() -> Any:
        with bridged(tmp_path) as live:
            return next(tool for tool in langchain_tools(live.toolset()) if tool.name == "read_file")

    tool = asyncio.run(made())
    message = tool.invoke({"name": "read_file", "args": {"path": "a.txt"}, "id": "1", "type": "tool_call"})

    assert (message.status, "ainvoke" in message.content) == ("error", True)


async def test_the_users_policy_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {made.name: made for made in langchain_tools(denied_by_user(tmp_path, monkeypatch))}
    assert "The policy denies this call: no listing" in await tools["ls"].ainvoke({})


async def test_a_picture_reaches_the_model_as_an_image_block(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(png(30, 20))
    with bridged(tmp_path) as live:
        (message,) = await messages_of(agent_of(live, ("read_file", {"path": "p.png"}))[0])
        without = {tool.name: tool for tool in langchain_tools(live.toolset(), pictures=False)}
        told = await without["read_file"].ainvoke({"path": "p.png"})

    text, picture = message.content_blocks
    assert text["type"] == "text"
    assert "p.png" in text["text"]
    assert picture["type"] == "image"
    assert (picture["mime_type"], picture["base64"][:5]) == ("image/png", "iVBOR")
    assert "Not shown: p.png (30 × 20)" in told
