"""How far a call goes without waiting, and how it goes on."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import toolgate
from tests.kit import BOTH, ProbeTool, call, code_of, toolset_of
from toolgate import ToolContext, ToolResponse
from toolgate.settings import Settings


def function(body: Any) -> Any:
    return toolgate.tool(modes=BOTH, name="probe")(body)


async def test_a_call_that_waits_for_nothing_is_over_before_anybody_else_has_a_turn() -> None:
    order: list[str] = []

    async def probe() -> str:
        """Probe."""
        order.append("tool")
        return "done"

    asyncio.get_running_loop().call_soon(order.append, "loop")
    await toolset_of(function(probe)).handle(call())
    order.append("result")
    await asyncio.sleep(0)
    assert order == ["tool", "result", "loop"]


async def test_what_a_tool_waits_for_first_may_fail_and_is_its_own_to_handle() -> None:
    async def probe() -> list[str]:
        """Probe."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, ValueError("first"))
        seen = []
        try:
            await future
        except ValueError as error:
            seen.append(str(error))
        await asyncio.sleep(0)
        return [*seen, "second"]

    result = await toolset_of(function(probe)).handle(call())
    assert result.response.data == {"result": ["first", "second"]}


async def test_a_failure_of_the_first_wait_that_ends_the_tool_is_an_answer() -> None:
    async def probe() -> str:
        """Probe."""
        try:
            await asyncio.wait_for(asyncio.get_running_loop().create_future(), 0.01)
        except TimeoutError:
            return "in time"
        return "never"

    result = await toolset_of(function(probe)).handle(call())
    assert result.response.data == {"result": "in time"}


async def test_an_execute_that_returns_another_awaitable_than_a_coroutine() -> None:
    class Odd(ProbeTool):
        def execute(self, params: Any, context: ToolContext) -> Awaitable[ToolResponse]:  # type: ignore[override]  # as some write it
            future: asyncio.Future[ToolResponse] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(future.set_result, ToolResponse.success({"odd": True}, "done"))
            return future

    result = await toolset_of(Odd()).handle(call())
    assert (code_of(result), result.response.data) == (None, {"odd": True})


async def test_an_execute_that_returns_no_awaitable_is_broken() -> None:
    class Wrong(ProbeTool):
        def execute(self, params: Any, context: ToolContext) -> Any:
            return {"not": "awaitable"}

    assert code_of(await toolset_of(Wrong()).handle(call())) == "INTERNAL_ERROR"


async def test_a_task_that_was_cancelled_at_the_first_wait_lets_the_next_writer_in() -> None:
    waiting = asyncio.Event()

    async def probe(wait: bool = True) -> str:
        """Probe."""
        if wait:
            waiting.set()
            await asyncio.sleep(600)
        return "done"

    toolset = toolset_of(function(probe))

    async def caller() -> None:
        await toolset.handle(call())

    task = asyncio.create_task(caller())
    await waiting.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert code_of(await toolset.handle(call(arguments={"wait": False}))) is None


async def test_a_call_inside_a_call_of_another_session_gives_the_outer_turn_back() -> None:
    inner = toolset_of(ProbeTool())

    async def probe(depth: int = 0) -> str:
        """Probe."""
        if depth:
            return "inside"
        await inner.handle(call())
        result = await asyncio.wait_for(_of(outer.handle(call(arguments={"depth": 1}))), 60)
        return str(result.response.data["result"])

    async def _of(pending: Any) -> Any:
        return await pending

    outer = toolset_of(function(probe))
    result = await outer.handle(call())
    assert result.response.data == {"result": "inside"}


async def test_a_plain_value_is_masked_and_cut_like_any_other() -> None:
    async def probe(long: bool = False) -> dict[str, str]:
        """Probe."""
        return {"said": "x\n" * 60_000 if long else "the token is s3cret-token-of-mine"}

    settings = Settings.defaults()
    gateway = settings.gateway.model_copy(update={"token": _secret("s3cret-token-of-mine")})
    toolset = toolset_of(function(probe), settings=settings.model_copy(update={"gateway": gateway}))
    shown = await toolset.handle(call())
    assert "s3cret" not in shown.output + shown.response.to_json()
    long = await toolset_of(function(probe)).handle(call(arguments={"long": True}))
    assert long.response.data["truncated"] is True


async def test_a_plain_value_that_is_no_ascii_is_written_as_it_is() -> None:
    async def probe() -> dict[str, str]:
        """Probe."""
        return {"größe": "\ud800 groß"}

    result = await toolset_of(function(probe)).handle(call())
    assert result.output.endswith('{"result":{"größe":"\ufffd groß"}}')


def _secret(text: str) -> Any:
    from pydantic import SecretStr

    return SecretStr(text)
