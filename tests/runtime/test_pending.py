"""`PendingResult`: when a call starts, how often it can be awaited, and what taking it back does."""

import asyncio
import logging
import time
from typing import Any

import pytest

from tests.kit import Foreign, NoParams, Patient, ProbeTool, call, code_of, raising, toolset_of
from toolgate import (
    Approval,
    ApprovalRequest,
    CallableToolset,
    PendingResult,
    ToolContext,
    ToolMode,
    ToolResponse,
)
from toolgate.runtime import pending as pending_module
from toolgate.testing import MemoryRecorder


@pytest.fixture
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds in earnest takes a moment here."""
    monkeypatch.setattr(pending_module, "GRACE", 0.05)


class Sleeper(ProbeTool):
    """Waits until it is let go, and knows how it was stopped."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        self.stopped = False

    async def execute(self, params: NoParams, context: ToolContext) -> ToolResponse:
        self.calls.append(params)
        self.started.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # tidies up
            self.stopped = True
            raise
        return ToolResponse.success({}, "rested")


def outcome(result: Any) -> tuple[str, str | None, str | None]:
    return result.tool_call_id, code_of(result), result.extras.get("failureCategory")


CANCELLED = ("c1", "CANCELLED", "cancelled")


def test_handle_needs_a_running_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        toolset_of(ProbeTool()).handle(call())


async def test_the_id_is_known_at_once() -> None:
    assert toolset_of(ProbeTool()).handle(call(id="abc")).tool_call_id == "abc"


async def test_awaited_twice_it_gives_the_same_result_and_runs_once() -> None:
    tool = ProbeTool()
    pending = toolset_of(tool).handle(call())
    assert await pending is await pending
    assert len(tool.calls) == 1


async def test_awaited_by_two_tasks_it_gives_both_the_same_result() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())

    async def waiter() -> Any:
        return await pending

    tasks = [asyncio.create_task(waiter()) for _ in range(3)]
    await tool.started.wait()
    tool.go.set()
    results = await asyncio.gather(*tasks)
    assert results[0] is results[1] is results[2]
    assert (code_of(results[0]), len(tool.calls)) == (None, 1)


async def test_never_awaited_it_runs_by_the_next_turn_of_the_loop() -> None:
    tool = ProbeTool()
    toolset_of(tool).handle(call())
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(tool.calls) == 1


async def test_awaited_late_it_has_already_run() -> None:
    tool = ProbeTool()
    pending = toolset_of(tool).handle(call())
    await asyncio.sleep(0.01)
    assert pending.done()
    assert (await pending).response.text == "done"
    assert len(tool.calls) == 1


async def test_many_that_nobody_awaits_all_run() -> None:
    tool = ProbeTool(read_only=True)
    toolset = toolset_of(tool)
    pending = [toolset.handle(call(id=str(number))) for number in range(20)]
    await asyncio.sleep(0.01)
    assert [one.done() for one in pending] == [True] * 20


async def test_awaiting_one_of_many_leaves_the_others_to_start_by_themselves() -> None:
    tool = ProbeTool(read_only=True)
    toolset = toolset_of(tool)
    first, second, third = (toolset.handle(call(id=str(number))) for number in range(3))
    assert (await second).tool_call_id == "1"
    await asyncio.sleep(0.01)
    assert (first.done(), third.done(), len(tool.calls)) == (True, True, 3)


async def test_cancelled_before_it_started_the_tool_is_never_called() -> None:
    tool = ProbeTool()
    pending = toolset_of(tool).handle(call())
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    assert tool.calls == []


async def test_cancelled_before_it_started_it_settles_although_nobody_awaits() -> None:
    tool = ProbeTool()
    pending = toolset_of(tool).handle(call())
    pending.cancel()
    await asyncio.sleep(0.01)
    assert (pending.done(), tool.calls) == (True, [])


async def test_cancelled_while_it_runs_the_tool_is_stopped_first() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())
    await tool.started.wait()
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    assert tool.stopped


async def test_cancelled_while_another_task_awaits_it_that_task_is_not_cancelled() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())

    async def waiter() -> tuple[Any, int]:
        result = await pending
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return result, task.cancelling()

    task = asyncio.create_task(waiter())
    await tool.started.wait()
    pending.cancel()
    result, cancelling = await task
    assert (outcome(result), cancelling) == (CANCELLED, 0)


async def test_cancel_is_synchronous_and_idempotent() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())
    await tool.started.wait()
    for _ in range(3):
        pending.cancel()
    first = await pending
    pending.cancel()
    assert outcome(first) == CANCELLED
    assert await pending is first


async def test_cancel_after_the_end_changes_nothing() -> None:
    pending = toolset_of(ProbeTool()).handle(call())
    result = await pending
    pending.cancel()
    assert await pending is result
    assert code_of(result) is None


async def test_a_cancelled_call_does_not_spoil_the_next_one() -> None:
    tool = Sleeper()
    toolset = toolset_of(tool)
    pending = toolset.handle(call())
    await tool.started.wait()
    pending.cancel()
    await pending
    tool.go.set()
    assert code_of(await toolset.handle(call(id="c2"))) is None


async def test_the_result_of_a_cancelled_call_is_whole() -> None:
    tool = Sleeper(Params=NoParams)
    recorder = MemoryRecorder()
    pending = toolset_of(tool, recorder=recorder).handle(call())
    await tool.started.wait()
    pending.cancel()
    result = await pending
    assert result.response.context == {"cwd": ".", "params_input": {}}
    assert result.response.stats["time_ms"] >= 0  # type: ignore[operator]  # it is a number
    assert [record.kind for record in recorder.records] == ["decision", "started", "finished"]
    assert recorder.records[-1].payload["code"] == "CANCELLED"


class Thinker:
    """An approver who never answers, and notices when the question is withdrawn."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.withdrawn = False

    async def decide(self, request: ApprovalRequest) -> Approval:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.withdrawn = True
            raise
        return Approval(allowed=True)


async def test_cancelled_while_a_person_thinks_the_question_is_withdrawn() -> None:
    tool, approver = ProbeTool(requires_permission=True), Thinker()
    pending = toolset_of(tool, approver=approver).handle(call())
    await asyncio.sleep(0)
    await approver.asked.wait()
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    assert (approver.withdrawn, tool.calls) == (True, [])


async def test_cancelled_while_it_waits_for_another_writer_it_never_runs() -> None:
    first, second = Sleeper(name="first"), ProbeTool(name="second")
    toolset = toolset_of(first, second)
    running = toolset.handle(call("first"))
    await first.started.wait()
    waiting = toolset.handle(call("second", id="c2"))
    await asyncio.sleep(0.01)
    waiting.cancel()
    assert outcome(await waiting) == ("c2", "CANCELLED", "cancelled")
    first.go.set()
    assert code_of(await running) is None
    assert second.calls == []
    assert code_of(await toolset.handle(call("second"))) is None


async def test_cancel_from_inside_the_tool_before_it_ever_waits() -> None:
    holder: list[PendingResult] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        holder[0].cancel()
        return ToolResponse.success({}, "done all the same")

    holder.append(toolset_of(ProbeTool(behaviour)).handle(call()))
    assert outcome(await holder[0]) == CANCELLED


async def test_cancel_from_inside_the_tool_while_it_works() -> None:
    holder: list[PendingResult] = []
    after = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0)
        holder[0].cancel()
        await asyncio.sleep(0)
        after.append("went on")
        return ToolResponse.success({}, "done all the same")

    holder.append(toolset_of(ProbeTool(behaviour)).handle(call()))
    assert outcome(await asyncio.wait_for(holder[0], 60)) == CANCELLED
    assert after == []


async def test_a_tool_that_raises_cancelled_error_by_itself_is_cancelled() -> None:
    task = asyncio.current_task()
    assert task is not None
    assert outcome(await toolset_of(ProbeTool(raising(asyncio.CancelledError()))).handle(call())) == CANCELLED
    assert task.cancelling() == 0


async def test_a_tool_that_awaits_a_cancelled_future_is_cancelled_and_nobody_else() -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
        raise AssertionError("not reached")

    assert outcome(await toolset_of(ProbeTool(behaviour)).handle(call())) == CANCELLED
    await asyncio.sleep(0)


@pytest.mark.parametrize("failure", [GeneratorExit(), KeyboardInterrupt(), ValueError("x")])
async def test_what_ends_a_task_of_the_tool_ends_the_call_and_not_its_caller(failure: BaseException) -> None:
    class Waits(ProbeTool):
        async def execute(self, params: NoParams, context: ToolContext) -> ToolResponse:
            inner: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(inner.set_exception, failure)
            await asyncio.shield(inner)
            return ToolResponse.success({}, "unreachable")

    assert code_of(await toolset_of(Waits()).handle(call())) == "INTERNAL_ERROR"


@pytest.mark.usefixtures("_short_grace")
async def test_a_tool_that_swallows_cancellation_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                continue

    pending = toolset_of(ProbeTool(behaviour)).handle(call())
    await asyncio.sleep(0.01)
    with caplog.at_level(logging.WARNING):
        pending.cancel()
        assert outcome(await asyncio.wait_for(pending, 60)) == CANCELLED
    assert "tool_did_not_stop tool_name='probe'" in caplog.text


async def test_a_tool_that_swallows_cancellation_settles_within_five_seconds() -> None:
    assert pending_module.GRACE < 5


async def test_a_tool_that_answers_after_it_was_cancelled_is_still_cancelled() -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return ToolResponse.success({}, "too late")
        raise AssertionError("not reached")

    pending = toolset_of(ProbeTool(behaviour)).handle(call())
    await asyncio.sleep(0.01)
    pending.cancel()
    assert outcome(await pending) == CANCELLED


async def test_a_tool_that_fails_while_it_is_stopped_is_still_cancelled() -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        try:
            await asyncio.sleep(600)
        finally:
            raise KeyError("while tidying up")

    pending = toolset_of(ProbeTool(behaviour)).handle(call())
    await asyncio.sleep(0.01)
    pending.cancel()
    assert outcome(await pending) == CANCELLED


# the waiting task is cancelled


async def cancel_waiter(tool: Sleeper, toolset: CallableToolset) -> asyncio.Task[Any]:
    async def waiter() -> None:
        await toolset.handle(call())

    task = asyncio.create_task(waiter())
    await tool.started.wait()
    task.cancel()
    await asyncio.wait([task])
    return task


async def test_cancelling_the_waiting_task_raises_after_the_tool_has_stopped() -> None:
    tool = Sleeper()
    task = await cancel_waiter(tool, toolset_of(tool))
    assert task.cancelled()
    assert tool.stopped


async def test_a_waiting_task_that_was_cancelled_may_clean_up_and_go_on() -> None:
    tool = Sleeper()
    toolset = toolset_of(tool)

    async def waiter() -> tuple[int, str | None]:
        pending = toolset.handle(call())
        try:
            await pending
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            return task.cancelling(), code_of(await pending)
        raise AssertionError("not cancelled")

    task = asyncio.create_task(waiter())
    await tool.started.wait()
    task.cancel()
    assert await task == (0, "CANCELLED")


async def test_wait_for_times_out_and_stops_the_tool() -> None:
    tool = Sleeper()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(toolset_of(tool).handle(call()), 0.02)
    assert tool.stopped


async def test_a_timeout_block_around_it_stops_the_tool() -> None:
    tool = Sleeper()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await toolset_of(tool).handle(call())
    task = asyncio.current_task()
    assert task is not None
    assert (tool.stopped, task.cancelling()) == (True, 0)


async def test_wait_for_returns_the_result_in_time() -> None:
    assert code_of(await asyncio.wait_for(toolset_of(ProbeTool()).handle(call()), 60)) is None


async def test_gather_gives_the_results_in_order() -> None:
    toolset = toolset_of(ProbeTool(read_only=True))
    results = await asyncio.gather(*(toolset.handle(call(id=str(number))) for number in range(5)))
    assert [result.tool_call_id for result in results] == ["0", "1", "2", "3", "4"]


async def test_shield_lets_the_call_go_on() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())

    async def waiter() -> None:
        await asyncio.shield(pending)

    task = asyncio.create_task(waiter())
    await tool.started.wait()
    task.cancel()
    await asyncio.wait([task])
    tool.go.set()
    assert (task.cancelled(), code_of(await pending), tool.stopped) == (True, None, False)


async def test_one_of_two_waiters_is_cancelled_and_the_other_gets_the_result() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())
    await tool.started.wait()  # it runs by itself by now

    async def waiter() -> Any:
        return await pending

    leaves, stays = asyncio.create_task(waiter()), asyncio.create_task(waiter())
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.wait([leaves])
    tool.go.set()
    assert (leaves.cancelled(), code_of(await stays)) == (True, None)


async def test_the_last_waiter_of_a_call_that_runs_by_itself_takes_it_along() -> None:
    tool = Sleeper()
    pending = toolset_of(tool).handle(call())
    await tool.started.wait()

    async def waiter() -> None:
        await pending

    task = asyncio.create_task(waiter())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), tool.stopped, code_of(await pending)) == (True, True, "CANCELLED")


def test_a_loop_that_ends_stops_what_is_still_running() -> None:
    stopped = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        try:
            await asyncio.sleep(600)
        finally:
            stopped.append(True)
        raise AssertionError("not reached")

    async def main() -> None:
        toolset_of(ProbeTool(behaviour)).handle(call())
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert stopped == [True]


def test_a_toolset_works_in_one_loop_after_another() -> None:
    tool = ProbeTool()
    toolset = toolset_of(tool)

    async def main() -> str:
        toolset.handle(call())
        await asyncio.sleep(0.01)
        return (await toolset.handle(call())).response.text

    assert [asyncio.run(main()), asyncio.run(main())] == ["done", "done"]
    assert len(tool.calls) == 4


# the tool's own cancellations are its own affair


@pytest.mark.usefixtures("_short_grace")
async def test_a_tool_may_use_a_timeout_of_its_own_and_work_on() -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(600)
        except TimeoutError:
            await asyncio.sleep(0.2)
        return ToolResponse.success({}, "worked on")

    assert (await toolset_of(ProbeTool(behaviour)).handle(call())).message == "worked on"


@pytest.mark.usefixtures("_short_grace")
async def test_a_tool_may_use_a_task_group_that_fails_and_work_on() -> None:
    async def bad() -> None:
        raise ValueError("a child fails")

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(bad())
                await asyncio.sleep(600)
        except* ValueError:
            await asyncio.sleep(0.2)
        return ToolResponse.success({}, "worked on")

    assert (await toolset_of(ProbeTool(behaviour)).handle(call())).message == "worked on"


@pytest.mark.usefixtures("_short_grace")
async def test_a_tool_may_cancel_a_nested_call_and_work_on() -> None:
    inner = Sleeper(name="inner", read_only=True)
    holder: list[CallableToolset] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        pending = holder[0].handle(call("inner", id="nested"))
        asyncio.get_running_loop().call_later(0.02, pending.cancel)
        nested = await pending
        await asyncio.sleep(0.2)
        return ToolResponse.success({"nested": code_of(nested)}, "worked on")

    holder.append(toolset_of(ProbeTool(behaviour), inner))
    result = await holder[0].handle(call())
    assert (result.message, result.response.data, inner.stopped) == ("worked on", {"nested": "CANCELLED"}, True)


async def test_a_nested_writer_does_not_wait_for_the_call_that_made_it() -> None:
    holder: list[CallableToolset] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        nested = await holder[0].handle(call("inner", id="nested"))
        return ToolResponse.success({"nested": nested.tool_call_id}, "done")

    holder.append(toolset_of(ProbeTool(behaviour), ProbeTool(name="inner")))
    result = await asyncio.wait_for(holder[0].handle(call()), 60)
    assert (result.tool_call_id, result.response.data) == ("c1", {"nested": "nested"})


async def test_cancelling_the_outer_call_stops_the_nested_one() -> None:
    inner = Sleeper(name="inner")
    holder: list[CallableToolset] = []

    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        await holder[0].handle(call("inner", id="nested"))
        raise AssertionError("not reached")

    holder.append(toolset_of(ProbeTool(behaviour), inner))
    pending = holder[0].handle(call())
    await inner.started.wait()
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    assert inner.stopped


async def test_a_deadline_stops_the_tool_and_says_so() -> None:
    tool = Sleeper(timeout=0.02)
    result = await toolset_of(tool).handle(call())
    assert outcome(result) == ("c1", "TIMEOUT", "timeout")
    assert tool.stopped


async def test_a_deadline_that_passed_leaves_the_awaiting_task_clean() -> None:
    await toolset_of(Sleeper(timeout=0.01)).handle(call())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_cancelled_call_with_a_deadline_is_cancelled_and_not_late() -> None:
    tool = Sleeper(timeout=30.0)
    pending = toolset_of(tool).handle(call())
    await tool.started.wait()
    pending.cancel()
    assert outcome(await pending) == CANCELLED


# foreign tools with a cancel of their own


async def start_patient(**options: Any) -> tuple[PendingResult, Patient]:
    made: list[Patient] = []

    def function(arguments: dict[str, Any]) -> Patient:
        made.append(Patient(**options))
        return made[0]

    pending = toolset_of(Foreign(function)).handle(call("foreign"))
    await asyncio.sleep(0.01)
    return pending, made[0]


async def test_a_foreign_awaitables_own_cancel_is_called_exactly_once() -> None:
    pending, patient = await start_patient()
    pending.cancel()
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    pending.cancel()
    assert patient.cancels == 1


async def test_cancelling_the_waiting_task_calls_the_own_cancel_exactly_once() -> None:
    made: list[Patient] = []

    def function(arguments: dict[str, Any]) -> Patient:
        made.append(Patient())
        return made[0]

    async def waiter() -> None:
        await toolset_of(Foreign(function)).handle(call("foreign"))

    task = asyncio.create_task(waiter())
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), made[0].cancels) == (True, 1)


@pytest.mark.usefixtures("_short_grace")
async def test_an_own_cancel_that_does_nothing_is_followed_by_force() -> None:
    pending, patient = await start_patient(stubborn=True)
    pending.cancel()
    assert outcome(await asyncio.wait_for(pending, 60)) == CANCELLED
    assert patient.cancels == 1


async def test_an_own_cancel_that_raises_does_not_raise_here(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_module, "GRACE", 0.05)
    pending, _ = await start_patient()

    def fail() -> None:
        raise ZeroDivisionError

    pending._hook = fail
    pending.cancel()
    assert outcome(await asyncio.wait_for(pending, 60)) == CANCELLED
    assert "tool_cancel_raised" in caplog.text


async def test_cancelled_before_it_started_a_foreign_tool_is_never_called() -> None:
    tool = Foreign(lambda _: Patient())
    pending = toolset_of(tool).handle(call("foreign"))
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    assert tool.calls == []


async def test_a_foreign_task_is_cancelled_like_any_other() -> None:
    tasks: list[asyncio.Task[None]] = []

    def function(arguments: dict[str, Any]) -> asyncio.Task[None]:
        tasks.append(asyncio.create_task(asyncio.sleep(600)))
        return tasks[0]

    pending = toolset_of(Foreign(function)).handle(call("foreign"))
    await asyncio.sleep(0.01)
    pending.cancel()
    assert outcome(await pending) == CANCELLED
    assert tasks[0].cancelled()


@pytest.mark.usefixtures("_short_grace")
async def test_a_foreign_tools_inner_timeout_does_not_use_up_its_cancel() -> None:
    """The awaitable's own timeout is not a request to stop it."""
    calls = []

    class Slow:
        def cancel(self) -> None:
            calls.append("cancel")

        def __await__(self) -> Any:
            return self.work().__await__()

        async def work(self) -> str:
            try:
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(600)
            except TimeoutError:
                await asyncio.sleep(0.2)
            return "fine"

    result = await toolset_of(Foreign(lambda _: Slow())).handle(call("foreign"))
    assert (result.response.data, calls) == ({"result": "fine"}, [])


async def test_the_time_it_took_counts_from_the_start_of_the_call() -> None:
    async def behaviour(params: Any, context: ToolContext) -> ToolResponse:
        await asyncio.sleep(0.02)
        return ToolResponse.success({}, "done")

    before = time.perf_counter()
    result = await toolset_of(ProbeTool(behaviour), mode=ToolMode.coding).handle(call())
    elapsed = (time.perf_counter() - before) * 1000
    assert 19 <= float(result.response.stats["time_ms"]) <= elapsed
