"""Dispatch: (name, JSON string) → serialised result of a trivial tool, with every gate on."""

import json
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.bench import Bench, Sample, Target

Call = Callable[[str, str], Awaitable[str]]

CALLS = {
    "ok": ("add", '{"a": 2, "b": 40}'),
    "unknown": ("nope", '{"a": 2, "b": 40}'),
    "badjson": ("add", '{"a": 2, "b": '),
}
_BUDGET = 0.3
_BATCHES = 12


async def floor() -> Call:
    """json.loads, one await, json.dumps."""

    async def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    tools = {"add": add}

    async def call(name: str, arguments: str) -> str:
        function = tools.get(name)
        if function is None:
            return json.dumps({"error": "unknown tool", "name": name})
        try:
            given = json.loads(arguments)
        except ValueError as error:
            return json.dumps({"error": str(error)})
        return json.dumps(await function(**given))

    return call


async def validated() -> Call:
    """What the protocol costs at least: pydantic validation and the envelope, without gates or record."""
    from pydantic import BaseModel, ValidationError

    class Numbers(BaseModel):
        a: int
        b: int

    def envelope(status: str, data: dict[str, Any], text: str, begin: float, given: Any, **error: Any) -> str:
        stats = {"time_ms": round((time.perf_counter() - begin) * 1e3, 3)}
        context = {"cwd": ".", "params_input": given}
        return json.dumps({"status": status, "data": data, "text": text, **error, "stats": stats, "context": context})

    async def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    validator = Numbers.__pydantic_validator__

    async def call(name: str, arguments: str) -> str:
        begin = time.perf_counter()
        if name != "add":
            error = {"code": "TOOL_NOT_FOUND", "message": name}
            return envelope("error", {}, f"Unknown tool {name}", begin, arguments, error=error)
        try:
            given = validator.validate_json(arguments).__dict__
        except ValidationError as problem:
            error = {"code": "INVALID_PARAM", "message": str(problem)}
            return envelope("error", {}, "Invalid parameters", begin, arguments, error=error)
        return envelope("success", await add(**given), "sum", begin, given)

    return call


async def ours() -> Call:
    """A toolset as users make it: both gates, policy, breaker, envelope, truncator."""
    import toolgate

    @toolgate.tool(modes=[toolgate.ToolMode.chat_safe])
    async def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    registry = toolgate.ToolRegistry()
    registry.register(add)
    toolset = registry.toolset(toolgate.ToolMode.chat_safe, toolgate.ToolContext())

    async def call(name: str, arguments: str) -> str:
        result = await toolset.handle(toolgate.ToolCall(id="c1", name=name, arguments=arguments))
        return result.response.to_json()

    return call


async def setup(make: Callable[[], Awaitable[Call]]) -> Call:
    """The caller of one contender."""
    return await make()


async def measure(call: Call, case: str) -> Sample:
    """The best of many short batches, in processor time: nothing here waits, and the machine may be shared.

    The table's median is over rounds.
    """
    name, arguments = CALLS[case]
    answer = await call(name, arguments)
    assert isinstance(answer, str)
    assert answer
    added = re.search(r"sum\W{1,8}42", answer) is not None
    assert added is (case == "ok"), answer
    clock = time.process_time
    for _ in range(20):
        await call(name, arguments)
    begin = clock()
    for _ in range(20):
        await call(name, arguments)
    size = max(1, int(_BUDGET / _BATCHES / max((clock() - begin) / 20, 1e-7)))
    best, end = float("inf"), clock() + _BUDGET
    while clock() < end:
        begin = clock()
        for _ in range(size):
            await call(name, arguments)
        best = min(best, (clock() - begin) / size)
    return Sample(value=best * 1e6)


DISPATCH = Bench(
    name="dispatch",
    unit="µs per call",
    cases=list(CALLS),
    floor="floor",
    references=["validation + envelope"],
    contenders={"floor": floor, "validation + envelope": validated, "toolgate": ours},
    setup=setup,
    measure=measure,
    role="dispatch",
    rounds=7,
    targets=[
        Target(contender="toolgate", case="ok", at_most=4.0),
        Target(contender="toolgate", case="unknown", at_most=4.0),
        Target(contender="toolgate", case="badjson", at_most=3.0),
    ],
)
