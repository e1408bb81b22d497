"""A call that was cut short: what is said about it, what is recorded, and that it never runs twice at a time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.kit import BOTH, Foreign, ProbeTool, call, code_of, toolset_of
from toolgate import CallableToolset, ToolContext, ToolMode, ToolResponse, tool
from toolgate.runtime import future_relay
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.state import runtime_state
from toolgate.testing import MemoryRecorder
from toolgate.tools.function import FunctionTool

AGAIN = "It may be made again"


class Blocking:
    """A synchronous tool that blocks its thread until it is let go."""

    def __init__(self, **options: Any) -> None:
        self.begun, self.release, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.runs = 0

        @tool(modes=BOTH, **options)
        def block(word: str = "a") -> str:
            """Block."""
            self.runs += 1
            self.begun.set()
            self.release.wait(30)
            self.ended.set()
            return word

        self.tool: FunctionTool[[str], str] = block


@pytest.fixture
async def blocking() -> AsyncIterator[Callable[..., Blocking]]:
    """Asynchronous, so that threads are let go before their event loop waits for them."""
    made: list[Blocking] = []

    def make(**options: Any) -> Blocking:
        made.append(Blocking(**options))
        return made[-1]

    yield make
    for one in made:
        one.release.set()


async def begun(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.005)


async def cut(toolset: CallableToolset, one: Blocking, how: str, **given: Any) -> Any:
    """Make the call, and have it cut short by its deadline or by cancelling it."""
    pending: PendingResult = toolset.handle(call("block", given))
    if how == "cancelled":
        await begun(one.begun)
        pending.cancel()
    return await pending


CUTS = pytest.mark.parametrize("how", ["late", "cancelled"])


@CUTS
async def test_a_thread_that_goes_on_is_said_to_be_still_running(blocking: Any, how: str) -> None:
    one = blocking(timeout=0.05 if how == "late" else None)
    result = await cut(toolset_of(one.tool), one, how)
    assert code_of(result) == ("TIMEOUT" if how == "late" else "CANCELLED")
    assert "still running, outcome unknown" in result.output
    assert AGAIN not in result.output
    assert "was stopped" not in result.output
    assert result.response.data == {"outcome": "unknown", "still_running": True}
    assert not one.ended.is_set()


@CUTS
async def test_the_same_call_does_not_run_beside_it_and_may_run_once_it_has_ended(blocking: Any, how: str) -> None:
    one = blocking(timeout=0.05 if how == "late" else None)
    toolset = toolset_of(one.tool)
    await cut(toolset, one, how)
    for call_id, arguments in (("c1", "{}"), ("c2", "{}"), ("c3", '{"word": "a"}')):
        refused = await toolset.handle(call("block", arguments, call_id))
        assert code_of(refused) == "CONFLICT"
        assert "is still running" in refused.output
    assert one.runs == 1
    one.release.set()
    await begun(one.ended)
    while code_of(result := await toolset.handle(call("block"))) == "CONFLICT":
        await asyncio.sleep(0.005)
    assert (result.response.data, one.runs) == ({"result": "a"}, 2)


async def test_a_call_with_other_arguments_and_a_call_of_another_session_run(blocking: Any) -> None:
    one = blocking()
    toolset = toolset_of(one.tool)
    await cut(toolset, one, "cancelled")
    one.release.set()
    assert code_of(await toolset.handle(call("block", {"word": "b"}))) is None
    assert code_of(await toolset_of(one.tool).handle(call("block"))) is None


async def test_a_call_that_waited_for_its_turn_does_not_run_beside_it_either(blocking: Any) -> None:
    one = blocking(timeout=0.05)
    toolset = toolset_of(one.tool)
    first, second = toolset.handle(call("block", id="1")), toolset.handle(call("block", id="2"))
    assert [code_of(await first), code_of(await second)] == ["TIMEOUT", "CONFLICT"]
    assert one.runs == 1


@CUTS
@pytest.mark.parametrize("kind", ["read_only", "idempotent"])
async def test_what_may_be_repeated_is_said_to_be_and_runs_again(blocking: Any, how: str, kind: str) -> None:
    one = blocking(timeout=0.05 if how == "late" else None, **{kind: True})
    toolset = toolset_of(one.tool)
    result = await cut(toolset, one, how)
    assert AGAIN in result.output
    assert "was stopped" not in result.output
    assert "outcome" not in result.response.data
    one.release.set()
    assert code_of(await toolset.handle(call("block"))) is None


@CUTS
async def test_it_is_recorded_as_uncertain(blocking: Any, how: str) -> None:
    recorder = MemoryRecorder()
    one = blocking(timeout=0.05 if how == "late" else None)
    await cut(CallableToolset([one.tool], ToolContext(mode=ToolMode.coding, recorder=recorder)), one, how)
    finished = [record.payload for record in recorder.records if record.kind == "finished"]
    assert [payload.get("uncertain") for payload in finished] == [True]


async def test_a_call_that_never_began_may_be_made_again() -> None:
    probe = ProbeTool()
    pending = toolset_of(probe).handle(call())
    pending.cancel()
    result = await pending
    assert (code_of(result), AGAIN in result.output, probe.calls) == ("CANCELLED", True, [])


@CUTS
async def test_a_tool_that_stops_says_that_it_was_told_to_and_what_to_look_at(how: str) -> None:
    started = asyncio.Event()

    async def wait(_params: Any, _context: ToolContext) -> ToolResponse:
        started.set()
        await asyncio.sleep(600)
        raise AssertionError

    probe = ProbeTool(wait, timeout=0.05 if how == "late" else None)
    toolset = toolset_of(probe)
    pending = toolset.handle(call())
    if how == "cancelled":
        await started.wait()
        pending.cancel()
    result = await pending
    assert "It was told to stop. What it had done until then stays: look before" in result.output
    assert AGAIN not in result.output
    assert (result.response.data, bool(runtime_state(toolset.context).unfinished.running)) == ({}, False)


async def test_a_deadline_holds_for_a_tool_that_ignores_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.runtime.execution.GRACE", 0.1)
    release, runs = asyncio.Event(), 0

    async def stubborn(_params: Any, _context: ToolContext) -> ToolResponse:
        nonlocal runs
        runs += 1
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return ToolResponse.success({}, "done")

    toolset = toolset_of(ProbeTool(stubborn, timeout=0.05))
    result = await toolset.handle(call())
    assert (code_of(result), "still running, outcome unknown" in result.output) == ("TIMEOUT", True)
    assert (code_of(await toolset.handle(call())), runs) == ("CONFLICT", 1)
    release.set()
    while code_of(result := await toolset.handle(call())) == "CONFLICT":
        await asyncio.sleep(0.005)
    assert (result.response.status, runs) == ("success", 2)


async def test_a_foreign_future_that_ignores_its_cancel_is_still_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolgate.runtime.pending.GRACE", 0.1)
    assert future_relay.GRACE > 0.1
    release = asyncio.Event()

    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    toolset = toolset_of(Foreign(lambda _: asyncio.ensure_future(stubborn())))
    pending = toolset.handle(call("foreign"))
    await asyncio.sleep(0.02)
    pending.cancel()
    result = await pending
    assert "still running, outcome unknown" in result.output
    assert code_of(await toolset.handle(call("foreign"))) == "CONFLICT"
    release.set()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("x")])
async def test_what_a_tool_with_a_deadline_raises_is_an_answer(error: BaseException) -> None:
    async def fail(_params: Any, _context: ToolContext) -> ToolResponse:
        raise error

    assert code_of(await toolset_of(ProbeTool(fail, timeout=5)).handle(call())) == "INTERNAL_ERROR"
