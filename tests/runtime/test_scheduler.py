"""The calls of one turn: as if one after another, only sooner."""

import asyncio
from typing import Any

from tests.kit import PathParams, ProbeTool, call, code_of, raising, toolset_of
from toolgate import ToolContext, ToolResponse
from toolgate.runtime.scheduler import MAX_AT_ONCE


class Diary:
    """Who began and ended when."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.running = 0
        self.peak = 0

    def tool(self, name: str, **attributes: Any) -> ProbeTool:
        async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
            self.lines.append(f"+{params.path}")
            self.running += 1
            self.peak = max(self.peak, self.running)
            await asyncio.sleep(0.005)
            self.running -= 1
            self.lines.append(f"-{params.path}")
            return ToolResponse.success({"path": params.path}, "done")

        return ProbeTool(behaviour, name=name, Params=PathParams, **attributes)


async def turn(diary: Diary, *names: str) -> list[Any]:
    toolset = toolset_of(diary.tool("read", read_only=True), diary.tool("write"))
    calls = [call(name, {"path": f"{name}{n}"}, id=str(n)) for n, name in enumerate(names)]
    return await toolset.handle_all(calls)


async def test_no_calls_are_no_results() -> None:
    assert await turn(Diary()) == []


async def test_readers_run_side_by_side_and_come_back_in_order() -> None:
    diary = Diary()
    results = await turn(diary, "read", "read", "read")
    assert [result.response.data["path"] for result in results] == ["read0", "read1", "read2"]
    assert diary.peak == 3


async def test_writers_run_in_order_and_alone() -> None:
    diary = Diary()
    await turn(diary, "write", "write", "write")
    assert diary.lines == ["+write0", "-write0", "+write1", "-write1", "+write2", "-write2"]


async def test_a_reader_after_a_writer_sees_what_was_written() -> None:
    diary = Diary()
    results = await turn(diary, "read", "write", "read")
    assert diary.lines == ["+read0", "-read0", "+write1", "-write1", "+read2", "-read2"]
    assert [result.tool_call_id for result in results] == ["0", "1", "2"]


async def test_a_bounded_number_runs_at_once() -> None:
    diary = Diary()
    results = await turn(diary, *["read"] * 40)
    assert [result.tool_call_id for result in results] == [str(n) for n in range(40)]
    assert 1 < diary.peak <= MAX_AT_ONCE


async def test_a_failing_call_leaves_its_siblings_alone() -> None:
    diary = Diary()
    toolset = toolset_of(
        diary.tool("read", read_only=True), ProbeTool(raising(SystemExit()), name="bad", read_only=True)
    )
    results = await toolset.handle_all([call("bad", id="0"), call("read", {"path": "a"}, id="1"), call("bad", id="2")])
    assert [code_of(result) for result in results] == ["INTERNAL_ERROR", None, "INTERNAL_ERROR"]


async def test_a_cancelled_sibling_leaves_the_others_alone() -> None:
    diary = Diary()
    stopped = ProbeTool(raising(asyncio.CancelledError()), name="stops", read_only=True)
    toolset = toolset_of(diary.tool("read", read_only=True), stopped)
    results = await toolset.handle_all([call("stops", id="0"), call("read", {"path": "a"}, id="1")])
    assert [code_of(result) for result in results] == ["CANCELLED", None]


async def test_cancelling_the_turn_stops_what_runs_and_starts_nothing_more() -> None:
    diary = Diary()
    stopped: list[str] = []

    async def hang(params: Any, context: ToolContext) -> ToolResponse:
        try:
            await asyncio.sleep(600)
        finally:
            stopped.append("hang")
        raise AssertionError("not reached")

    toolset = toolset_of(ProbeTool(hang, name="hang", read_only=True), diary.tool("write"))
    task = asyncio.create_task(
        toolset.handle_all([call("hang", id="0"), call("hang", id="1"), call("write", {"path": "w"}, id="2")])
    )
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), stopped, diary.lines) == (True, ["hang", "hang"], [])
