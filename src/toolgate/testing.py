"""Fakes for tests of tools and agents (a model, an approver, a clock, a recorder), and conformance checks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, cast

from toolgate.conformance import violations
from toolgate.errors import ModelError
from toolgate.models.base import ModelClient, ModelItem, ModelRequest
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.ids import uuid7
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.record import CallRecord
from toolgate.runtime.toolset import CallableToolset
from toolgate.tools.base import CallableTool, Tool
from toolgate.tools.context import ToolContext
from toolgate.transcript import Difference, RecordedCall, Transcript

__all__ = [
    "AutoApprover",
    "Difference",
    "FakeClock",
    "FaultyModel",
    "MemoryRecorder",
    "RecordedCall",
    "ScriptedModel",
    "Transcript",
    "check_tool",
    "violations",
]


class AutoApprover:
    """Gives the same answer to every approval request, and keeps the requests."""

    def __init__(self, allow: bool = True, *, message: str = "", remember: bool = False) -> None:
        self.requests: list[ApprovalRequest] = []
        self._answer = Approval(allowed=allow, message=message, remember=remember)

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Return the fixed answer."""
        self.requests.append(request)
        return self._answer


class FakeClock:
    """A clock that stands still until `advance` is called; `context.clock = FakeClock()`."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._monotonic = 0.0
        self._time = now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._monotonic

    def time(self) -> float:
        """Seconds since the epoch."""
        return self._time

    def advance(self, seconds: float) -> None:
        """Advance the clock. It never goes backwards."""
        if not seconds >= 0:
            raise ValueError("time does not go backwards")
        self._monotonic += seconds
        self._time += seconds


class MemoryRecorder:
    """Keeps the records of calls in a list."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []

    async def record(self, record: CallRecord) -> None:
        """Keep one record."""
        self.records.append(record)


class ScriptedModel:
    """Answers with a script: a turn is a string, or strings and calls in the order in which they are streamed.

    A turn may also hold an exception, which is raised in its place, and a function that returns an awaitable, which is
    waited for. The requests are kept as they were. A request after the last turn is a `ModelError`.
    """

    name = "scripted"

    def __init__(self, turns: Iterable[str | Sequence[object]], *, vision: bool = False) -> None:
        """`vision`: whether it is sent pictures."""
        if isinstance(turns, str):
            raise TypeError(f"turns must be a list of turns, not text: write ScriptedModel([{turns!r:.80}])")
        self.requests: list[ModelRequest] = []
        self.vision = vision
        self._turns = iter([[turn] if isinstance(turn, str) else list(turn) for turn in turns])

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Stream the next turn."""
        self.requests.append(ModelRequest(list(request.messages), list(request.tools)))
        turn = next(self._turns, None)
        if turn is None:
            raise ModelError("MODEL_PROTOCOL", "The script has ended.")
        for step in turn:
            if isinstance(step, BaseException):
                raise step
            if callable(step):
                await step()
            else:
                yield cast("ModelItem", step)


class FaultyModel:
    """Wraps a model and makes requests fail: `faults[n]` is raised in the n-th request, None lets it pass."""

    name = "faulty"

    def __init__(self, model: ModelClient, faults: Iterable[BaseException | None], *, after: int = 0) -> None:
        """`after`: how many pieces of the answer are streamed before the fault."""
        self.requests: list[ModelRequest] = []
        self._model = model
        self._faults = iter(list(faults))
        self._after = after

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Raise the planned fault, or stream the model's answer."""
        self.requests.append(request)
        fault = next(self._faults, None)
        left = self._after
        if fault is not None and left == 0:
            raise fault
        async for item in self._model.stream(request):
            yield item
            left -= 1
            if fault is not None and left <= 0:
                raise fault
        if fault is not None:
            raise fault


async def check_tool(
    tool: Tool[Any] | CallableTool, arguments: dict[str, Any], *, context: ToolContext | None = None
) -> list[str]:
    """Run a tool through the pipeline, with these valid arguments and with invalid ones, and return all violations."""
    definition = tool.tool_definition
    context = context if context is not None else _context_for(tool)
    toolset = CallableToolset([tool], context)
    root = str(context.workspace.root) if context.workspace is not None else None
    found = []
    if not definition.description.strip():
        found.append("the tool has no description")
    if not toolset.tools:
        return [*found, f"the tool is not shown in mode {context.mode.value}: declare allowed_modes"]
    for label, text, is_valid in _trials(definition.parameters, arguments):
        call = ToolCall(id=uuid7(), name=definition.name, arguments=text)
        result = await toolset.handle(call)
        broken = [*violations(result, root=root), *_unexpected(result, call, is_valid=is_valid)]
        found += [f"{label}: {problem}" for problem in broken]
    return found


def _unexpected(result: ToolResult, call: ToolCall, *, is_valid: bool) -> Iterator[str]:
    code = result.response.error.code if result.response.error else None
    if result.tool_call_id != call.id:
        yield "the id of the call was lost"
    if is_valid and code in (ErrorCode.INVALID_PARAM, ErrorCode.INTERNAL_ERROR):
        yield f"ended with {code.value}: {result.message}"
    if not is_valid and code is not ErrorCode.INVALID_PARAM:
        yield f"ended with {code.value if code else result.response.status.value}, not INVALID_PARAM"


def _context_for(tool: Tool[Any] | CallableTool) -> ToolContext:
    """Return a context in which the tool may run: its mode, and an approver that says yes."""
    modes = tool.allowed_modes if isinstance(tool, Tool) else frozenset(ToolMode)
    mode = ToolMode.coding if ToolMode.coding in modes else ToolMode.chat_safe
    return ToolContext(mode=mode, approver=AutoApprover())


def _trials(schema: dict[str, Any], arguments: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield a label, the arguments as a model would write them, and whether they are valid."""
    text = json.dumps(arguments)
    yield "valid arguments", text, True
    yield "broken JSON", text[:-1] + ',"', False
    yield "not an object", f"[{text}]", False
    yield "NaN", f'{{"{next(iter(arguments), "x")}": NaN}}', False
    yield "deep nesting", "[" * 5_000, False
    yield "a lone surrogate", '{"\\ud800": 1}', False
    for key in arguments:
        yield f"{key!r} twice", f"{text[:-1]}, {json.dumps(key)}: null}}", False
    for key in schema.get("required", []):
        yield f"without {key!r}", json.dumps({k: v for k, v in arguments.items() if k != key}), False
    if schema.get("additionalProperties") is False:
        yield "an unknown key", json.dumps({**arguments, "no_such_key": 1}), False
    for key, declared in schema.get("properties", {}).items():
        if declared.get("type") in ("string", "integer", "number", "boolean", "array"):
            yield f"{key!r} of the wrong type", json.dumps({**arguments, key: {"wrong": "type"}}), False
