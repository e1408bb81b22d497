"""Writers of one session run one after another, also if several tasks call them."""

import asyncio
from typing import Any

from tests.kit import ProbeTool, call, code_of, toolset_of
from toolgate import CallableToolset, ToolContext, ToolMode, ToolResponse


class Watched(ProbeTool):
    """Knows how many of its kind ran at once."""

    running = 0
    peak = 0

    async def execute(self, params: Any, context: ToolContext) -> ToolResponse:
        kind = type(self)
        kind.running += 1
        kind.peak = max(kind.peak, kind.running)
        self.calls.append(params)
        try:
            await asyncio.sleep(0.005)
        finally:
            kind.running -= 1
        return ToolResponse.success({}, "done")


async def most_at_once(**attributes: Any) -> int:
    class Mine(Watched):
        pass

    toolset = toolset_of(Mine(**attributes))
    results = await asyncio.gather(*(toolset.handle(call(id=str(n))) for n in range(6)))
    assert [code_of(result) for result in results] == [None] * 6
    return Mine.peak


async def test_writers_never_overlap() -> None:
    assert await most_at_once() == 1


async def test_readers_run_side_by_side() -> None:
    assert await most_at_once(read_only=True) == 6


async def test_writers_run_in_the_order_of_their_calls() -> None:
    order: list[str] = []

    async def note(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0.001)
        order.append("ran")
        return ToolResponse.success({"place": len(order)}, "done")

    toolset = toolset_of(ProbeTool(note))
    results = await asyncio.gather(*(toolset.handle(call(id=str(n))) for n in range(5)))
    assert [result.response.data["place"] for result in results] == [1, 2, 3, 4, 5]


async def test_two_toolsets_of_one_context_share_the_lock() -> None:
    class Mine(Watched):
        pass

    context = ToolContext(mode=ToolMode.coding)
    one, two = CallableToolset([Mine()], context), CallableToolset([Mine()], context)
    await asyncio.gather(*(toolset.handle(call()) for toolset in (one, two, one, two)))
    assert Mine.peak == 1


async def test_two_contexts_do_not_wait_for_each_other() -> None:
    class Mine(Watched):
        pass

    await asyncio.gather(toolset_of(Mine()).handle(call()), toolset_of(Mine()).handle(call()))
    assert Mine.peak == 2


async def test_a_failing_writer_lets_the_next_one_in() -> None:
    async def fail(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0)
        raise SystemExit

    toolset = toolset_of(ProbeTool(fail), ProbeTool(name="next"))
    results = await asyncio.wait_for(asyncio.gather(toolset.handle(call()), toolset.handle(call("next"))), 60)
    assert [code_of(result) for result in results] == ["INTERNAL_ERROR", None]


async def test_a_cancelled_writer_lets_the_next_one_in() -> None:
    toolset = toolset_of(ProbeTool(lambda *_: asyncio.sleep(600)), ProbeTool(name="next"))
    first = toolset.handle(call())
    await asyncio.sleep(0.01)
    second = toolset.handle(call("next"))
    await asyncio.sleep(0.01)
    first.cancel()
    assert code_of(await asyncio.wait_for(second, 60)) is None


async def test_of_waiting_writers_a_cancelled_one_is_passed_over() -> None:
    gate = asyncio.Event()

    async def wait(params: Any, context: ToolContext) -> ToolResponse:
        await gate.wait()
        return ToolResponse.success({}, "done")

    toolset = toolset_of(ProbeTool(wait), ProbeTool(name="next"))
    first = toolset.handle(call())
    await asyncio.sleep(0.01)
    waiting = [toolset.handle(call("next", id=str(n))) for n in range(3)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    waiting[1].cancel()
    gate.set()
    assert code_of(await asyncio.wait_for(waiting[2], 60)) is None
    assert [code_of(await one) for one in (first, *waiting[:2])] == [None, "CANCELLED", "CANCELLED"]


async def test_a_writer_that_a_finished_writer_left_running_waits_like_any_other() -> None:
    """Having been started inside a call that held the lock does not count when that call is over."""

    class Mine(Watched):
        pass

    holder: list[CallableToolset] = []
    left: list[Any] = []

    async def leave(params: Any, context: ToolContext) -> ToolResponse:
        async def later() -> Any:
            await asyncio.sleep(0.01)
            return await holder[0].handle(call("mine", id="left"))

        left.append(asyncio.create_task(later()))
        return ToolResponse.success({}, "done")

    holder.append(toolset_of(ProbeTool(leave), Mine(name="mine")))
    await holder[0].handle(call())
    await asyncio.sleep(0.008)
    others = [holder[0].handle(call("mine", id=str(n))) for n in range(3)]
    await asyncio.gather(*others, left[0])
    assert Mine.peak == 1


async def test_after_a_writer_the_task_does_not_count_as_holding_the_lock() -> None:
    class Mine(Watched):
        pass

    toolset = toolset_of(Mine())
    await toolset.handle(call())

    async def another() -> Any:
        return await toolset.handle(call())

    await asyncio.gather(*(asyncio.create_task(another()) for _ in range(3)))
    assert Mine.peak == 1
