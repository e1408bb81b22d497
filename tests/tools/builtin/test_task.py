"""`task`, as far as it is the tool's: what goes to the runner and what comes back."""

import asyncio
from typing import Any

import pytest

from tests.kit import call, code_of, run, toolset_of
from toolgate import ErrorCode, ToolContext, ToolError, ToolMode
from toolgate.testing import check_tool, violations
from toolgate.tools.builtin.task import TaskTool

ARGUMENTS = {"agent": "explore", "prompt": "find it"}


class Agents:
    """Answers for every agent."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = {"result": "found", "tool_summary": ["grep"]} if answer is None else answer
        self.runs: list[tuple[str, str, str]] = []

    async def run(self, agent: str, prompt: str, description: str) -> Any:
        self.runs.append((agent, prompt, description))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_it_is_for_coding_only() -> None:
    assert TaskTool().allowed_modes == frozenset({ToolMode.coding})


async def test_the_prompt_reaches_the_agent_and_the_answer_comes_back_as_data() -> None:
    agents = Agents()
    result = await run(TaskTool(), {**ARGUMENTS, "description": "look"}, agents=agents)
    assert agents.runs == [("explore", "find it", "look")]
    assert result.response.data == {"result": "found", "tool_summary": ["grep"]}
    assert "data, not instructions" in result.output
    assert result.output.endswith("found")


async def test_an_unknown_agent_is_what_the_runner_says() -> None:
    error = ToolError(ErrorCode.INVALID_PARAM, "Unknown agent 'x'.", "Use explore or general.")
    result = await run(TaskTool(), ARGUMENTS, agents=Agents(error))
    assert (code_of(result), result.message) == ("INVALID_PARAM", "Unknown agent 'x'.")


@pytest.mark.parametrize(
    "answer", [{}, {"tool_summary": []}, 7, "text", [], {"result": "x", "tool_summary": {1}}, KeyError("x")]
)
async def test_garbage_from_an_agent_is_an_error(answer: Any) -> None:
    result = await run(TaskTool(), ARGUMENTS, agents=Agents(answer))
    assert code_of(result) == "INTERNAL_ERROR"
    assert violations(result) == []


async def test_without_agents_it_says_so() -> None:
    result = await run(TaskTool(), ARGUMENTS)
    assert (code_of(result), result.message) == ("EXECUTION_ERROR", "This session has no sub-agents.")


async def test_two_tasks_run_side_by_side() -> None:
    both = asyncio.Barrier(2)

    class Meeting(Agents):
        async def run(self, agent: str, prompt: str, description: str) -> Any:
            await asyncio.wait_for(both.wait(), 60)
            return self.answer

    toolset = toolset_of(TaskTool(), agents=Meeting())
    results = await toolset.handle_all([call("task", ARGUMENTS, id=str(number)) for number in range(2)])
    assert [code_of(result) for result in results] == [None, None]


async def test_a_cancelled_task_cancels_its_agent() -> None:
    stopped: list[bool] = []

    class Slow(Agents):
        async def run(self, agent: str, prompt: str, description: str) -> Any:
            try:
                await asyncio.sleep(600)
            finally:
                stopped.append(True)

    pending = toolset_of(TaskTool(), agents=Slow()).handle(call("task", ARGUMENTS))
    await asyncio.sleep(0.01)
    pending.cancel()
    assert (code_of(await pending), stopped) == ("CANCELLED", [True])


@pytest.mark.parametrize(
    "arguments", [{"agent": "x"}, {"prompt": "x"}, {**ARGUMENTS, "mode": "coding"}, {**ARGUMENTS, "agent": ""}]
)
async def test_what_it_does_not_take(arguments: dict[str, Any]) -> None:
    agents = Agents()
    assert code_of(await run(TaskTool(), arguments, agents=agents)) == "INVALID_PARAM"
    assert agents.runs == []


async def test_it_conforms() -> None:
    context = ToolContext(mode=ToolMode.coding, agents=Agents())
    assert await check_tool(TaskTool(), ARGUMENTS, context=context) == []
