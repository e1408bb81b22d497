"""`Tool.bind`: a native tool as a `CallableTool`, behind every gate of its context."""

import asyncio
from typing import Any

import pytest

from tests.kit import PathParams, ProbeTool, code_of, run, toolset_of
from toolgate import ToolContext, ToolMode, ToolResponse
from toolgate.testing import AutoApprover


async def call_bound(tool: ProbeTool, arguments: dict[str, Any], **context: Any) -> ToolResponse:
    bound = tool.bind(ToolContext(**{"mode": ToolMode.coding, **context}))
    response: ToolResponse = await bound(arguments)
    return response


async def test_it_answers_with_the_envelope() -> None:
    tool = ProbeTool(Params=PathParams)
    response = await call_bound(tool, {"path": "a"})
    assert (response.status, response.context["params_input"]) == ("success", {"path": "a"})
    assert tool.calls == [PathParams(path="a")]


async def test_the_mode_gate_holds() -> None:
    tool = ProbeTool(allowed_modes=frozenset({ToolMode.coding}))
    response = await call_bound(tool, {}, mode=ToolMode.chat_safe)
    assert response.error is not None
    assert (response.error.code, tool.calls) == ("MODE_DENIED", [])


async def test_permission_is_asked_for() -> None:
    tool, approver = ProbeTool(requires_permission=True), AutoApprover()
    assert (await call_bound(tool, {})).status == "error"
    assert (await call_bound(tool, {}, approver=approver)).status == "success"
    assert (len(tool.calls), len(approver.requests)) == (1, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": 1},
        {},
        {"path": float("nan")},
        {"path": "\ud800"},
        {"path": b"bytes"},
        {"path": {1, 2}},
        {"path": object()},
        {"path": "a", 7: 1},
    ],
)
async def test_bad_arguments_are_an_envelope_and_not_an_exception(arguments: dict[Any, Any]) -> None:
    tool = ProbeTool(Params=PathParams)
    response = await call_bound(tool, arguments)
    assert response.error is not None
    assert (response.error.code, tool.calls) == ("INVALID_PARAM", [])
    assert "Invalid parameters" in response.error.message


async def test_circular_arguments_are_an_envelope_too() -> None:
    circle: dict[str, Any] = {}
    circle["path"] = circle
    response = await call_bound(ProbeTool(Params=PathParams), circle)
    assert response.error is not None
    assert response.error.code == "INVALID_PARAM"


async def test_it_can_be_cancelled() -> None:
    tool = ProbeTool(lambda *_: asyncio.sleep(600))
    pending = tool.bind(ToolContext(mode=ToolMode.coding))({})
    await asyncio.sleep(0.01)
    pending.cancel()  # type: ignore[attr-defined]  # the awaitable may carry it, and this one does
    response = await pending
    assert response.error.code == "CANCELLED"


async def test_a_bound_tool_in_another_toolset_is_cancelled_with_it() -> None:
    stopped: list[bool] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        try:
            await asyncio.sleep(600)
        finally:
            stopped.append(True)
        raise AssertionError("not reached")

    bound = ProbeTool(behaviour).bind(ToolContext(mode=ToolMode.coding))
    from tests.kit import call

    pending = toolset_of(bound).handle(call())
    await asyncio.sleep(0.01)
    pending.cancel()
    assert code_of(await pending) == "CANCELLED"
    assert stopped == [True]


async def test_a_bound_tool_keeps_its_envelope_in_another_toolset() -> None:
    response = ToolResponse.partial({"n": 1}, "Half. Use more.")

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        return response

    result = await run(ProbeTool(behaviour).bind(ToolContext(mode=ToolMode.coding)))
    assert (result.response.status, result.response.data, result.message) == ("partial", {"n": 1}, "Half. Use more.")
