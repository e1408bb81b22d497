"""Whatever a tool raises, returns or leaves behind becomes the envelope."""

import asyncio
import json
from typing import Any

import pytest

from tests.kit import Foreign, ProbeTool, call, code_of, returning, run, toolset_of
from toolgate import (
    Status,
    ToolContext,
    ToolResponse,
    ToolResult,
)
from toolgate.testing import violations

ERRORS = [
    Exception("/home/me/secret"),
    BaseException("/home/me/secret"),
    SystemExit("/home/me/secret"),
    KeyboardInterrupt("/home/me/secret"),
    GeneratorExit("/home/me/secret"),
    RecursionError("/home/me/secret"),
    MemoryError("/home/me/secret"),
    StopIteration("/home/me/secret"),
    StopAsyncIteration("/home/me/secret"),
    AssertionError("/home/me/secret"),
    UnicodeDecodeError("utf-8", b"/home/me/secret", 0, 1, "secret"),
    ExceptionGroup("/home/me/secret", [ValueError("secret")]),
    BaseExceptionGroup("/home/me/secret", [SystemExit("secret")]),
]


@pytest.mark.parametrize("when", ["at once", "later", "in a thread", "in a task", "gathered", "while planning"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_e09_whatever_a_tool_raises(error: BaseException, when: str, caplog: pytest.LogCaptureFixture) -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        if when == "later":
            await asyncio.sleep(0)
        leaves = not isinstance(error, StopIteration | SystemExit | KeyboardInterrupt)
        if when == "in a thread" and not isinstance(error, StopIteration):  # that cannot leave one
            await asyncio.to_thread(_raise, error)
        if when == "in a task" and leaves:  # the others end the event loop itself
            await asyncio.create_task(_raise_later(error))
        if when == "gathered" and leaves:
            await asyncio.gather(asyncio.sleep(0), _raise_later(error))
        raise error

    class Plans(ProbeTool):
        async def prepare(self, params: Any, context: ToolContext) -> Any:
            await behaviour(params, context)

    toolset = toolset_of(Plans(behaviour) if when == "while planning" else ProbeTool(behaviour), ProbeTool(name="next"))
    result = await asyncio.wait_for(toolset.handle(call(id="e09")), 60)
    assert (result.tool_call_id, code_of(result)) == ("e09", "INTERNAL_ERROR")
    shown = result.response.to_json() + result.output + " ".join(record.getMessage() for record in caplog.records)
    assert [word for word in ("secret", "Traceback", ".py", "/home", "/work") if word in shown] == []
    assert violations(result) == []
    assert code_of(await toolset.handle(call("next"))) is None


def _raise(error: BaseException) -> None:
    raise error


async def _raise_later(error: BaseException) -> None:
    await asyncio.sleep(0)
    raise error


@pytest.mark.parametrize("how", ["awaited", "in the background"])
async def test_e09_a_task_that_does_not_stop_is_left_behind(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.runtime.future_relay.GRACE", 0.05)
    monkeypatch.setattr("toolgate.runtime.pending.GRACE", 0.05)
    over = asyncio.Event()

    async def stubborn() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.create_task(stubborn())
        raise AssertionError

    pending = toolset_of(ProbeTool(behaviour)).handle(call(id="e09"))
    if how == "awaited":
        asyncio.get_running_loop().call_later(0.05, pending.cancel)
    else:
        await asyncio.sleep(0.05)
        pending.cancel()
    result = await asyncio.wait_for(asyncio.shield(_waits(pending)), 60)
    over.set()
    assert (result.tool_call_id, code_of(result)) == ("e09", "CANCELLED")


def _waits(pending: Any) -> "asyncio.Task[ToolResult]":
    async def wait() -> ToolResult:
        found: ToolResult = await pending
        return found

    return asyncio.get_running_loop().create_task(wait())


async def test_e09_a_task_that_ends_well_in_spite_of_it_is_heard() -> None:
    async def careful() -> int:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return 42
        raise AssertionError

    seen: list[int] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        seen.append(await asyncio.create_task(careful()))
        return ToolResponse.success({}, "done")

    pending = toolset_of(ProbeTool(behaviour)).handle(call(id="e09"))
    asyncio.get_running_loop().call_later(0.05, pending.cancel)
    result = await asyncio.wait_for(_waits(pending), 60)
    assert (seen, code_of(result)) == ([42], "CANCELLED")


@pytest.mark.parametrize("when", ["at once", "later"])
async def test_e09_a_tool_that_cancels_itself(when: str) -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        if when == "later":
            await asyncio.sleep(0)
        raise asyncio.CancelledError("/home/me/secret")

    result = await run(ProbeTool(behaviour), id="e09")
    task = asyncio.current_task()
    assert task is not None
    assert (result.tool_call_id, code_of(result), task.cancelling()) == ("e09", "CANCELLED", 0)


def circular() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    return circle


def unchecked(**changes: Any) -> ToolResponse:
    """A response that nobody validated."""
    fields: dict[str, Any] = {
        "status": Status.success,
        "data": {},
        "text": "x",
        "error": None,
        "stats": {},
        "context": {},
    }
    return ToolResponse.model_construct(**{**fields, **changes})


class Sneaky(ToolResponse):
    """A response with a field of its own."""

    extra_top: int = 7


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        "text",
        7,
        circular(),
        {"status": "success", "data": {}, "text": "x"},
        ToolResponse.success(circular(), "done"),
        ToolResponse.success({"x": b"bytes"}, "done"),
        ToolResponse.success({"x": {1, 2}}, "done"),
        ToolResponse.success({"x": object()}, "done"),
        unchecked(status="ok"),
        unchecked(data=None),
        unchecked(data={("a",): 1}),
        unchecked(data={"truncated": True}),
        unchecked(status=Status.error),
        unchecked(text=None),
        unchecked(stats=None),
        unchecked(context=None),
        unchecked(error="Error: x"),
        ToolResponse,
        asyncio.sleep,
    ],
    ids=lambda value: type(value).__name__,
)
async def test_e10_a_tool_that_returns_nonsense(value: Any) -> None:
    tool = ProbeTool(returning(value))
    result = await run(tool, id="e10")
    assert (result.tool_call_id, code_of(result)) == ("e10", "INTERNAL_ERROR")
    assert violations(result) == []


async def test_e10_a_response_with_a_field_of_its_own_does_not_show_it() -> None:
    result = await run(ProbeTool(returning(Sneaky(status=Status.success, data={}, text="x"))))
    assert violations(result) == []
    assert json.loads(result.response.to_json()).keys() == {"status", "data", "text", "stats", "context"}


async def test_e10_a_foreign_tool_that_returns_nonsense() -> None:
    for value in (b"x", circular(), {"x": {1}}, {"status": "ok", "data": {}, "text": "x"}, object()):
        result = await run(Foreign(lambda _, value=value: value))  # type: ignore[misc]  # bound here
        assert code_of(result) == "INTERNAL_ERROR"
        assert violations(result) == []
