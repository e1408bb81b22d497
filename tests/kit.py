"""Small tools, contexts and calls that the tests of the core share."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from toolgate import (
    CallableTool,
    CallableToolset,
    Tool,
    ToolCall,
    ToolContext,
    ToolDefinition,
    ToolMode,
    ToolResponse,
    ToolResult,
)

BOTH = frozenset(ToolMode)
Behaviour = Callable[[Any, ToolContext], Awaitable[Any]]


def unchanged(path: Path) -> tuple[object, ...]:
    """What must be equal if nobody wrote to a file. Reading it may move its access time."""
    info = path.stat()
    return info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, path.read_bytes()


class NoParams(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PathParams(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str
    limit: int = 10


class ProbeTool(Tool[Any]):
    """Does what it was made for, and counts."""

    name = "probe"
    description = "Probes."
    Params: ClassVar[Any] = NoParams
    allowed_modes = BOTH

    def __init__(self, behaviour: Behaviour | None = None, **attributes: Any) -> None:
        self.behaviour = behaviour
        self.calls: list[Any] = []
        for name, value in attributes.items():
            setattr(self, name, value)

    async def execute(self, params: Any, context: ToolContext) -> ToolResponse:
        self.calls.append(params)
        if self.behaviour is None:
            return ToolResponse.success({}, "done")
        response: ToolResponse = await self.behaviour(params, context)
        return response


class Foreign:
    """A `CallableTool` made of a function."""

    def __init__(
        self, function: Callable[[dict[str, Any]], Any], schema: dict[str, Any] | None = None, name: str = "foreign"
    ) -> None:
        self.function = function
        self.calls: list[dict[str, Any]] = []
        self.tool_definition = ToolDefinition(name=name, description="Foreign.", parameters=schema or {})

    def __call__(self, arguments: dict[str, Any]) -> Any:
        self.calls.append(dict(arguments))
        return self.function(arguments)


class Patient:
    """An awaitable with a `.cancel()` of its own, as other people's libraries return them."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.cancels = 0
        self.stubborn = stubborn

    def cancel(self) -> None:
        self.cancels += 1
        if not self.stubborn and not self.future.done():
            self.future.set_result("stopped")

    def __await__(self) -> Any:
        return self.future.__await__()


def returning(value: Any) -> Behaviour:
    async def behaviour(params: Any, context: ToolContext) -> Any:
        return value

    return behaviour


def raising(error: BaseException) -> Behaviour:
    async def behaviour(params: Any, context: ToolContext) -> Any:
        raise error

    return behaviour


def call(name: str = "probe", arguments: str | dict[str, Any] = "{}", id: str = "c1") -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id=id, name=name, arguments=text)


def toolset_of(*tools: Tool[Any] | CallableTool, mode: ToolMode = ToolMode.coding, **context: Any) -> CallableToolset:
    return CallableToolset(tools, ToolContext(mode=mode, **context))


async def run(
    tool: Tool[Any] | CallableTool, arguments: str | dict[str, Any] = "{}", id: str = "c1", **context: Any
) -> ToolResult:
    return await toolset_of(tool, **context).handle(call(tool.tool_definition.name, arguments, id))


def code_of(result: ToolResult) -> str | None:
    return result.response.error.code.value if result.response.error else None
