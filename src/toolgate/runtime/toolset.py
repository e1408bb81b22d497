"""`CallableToolset`: tools behind both gates, ready to be called by a model."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolResult
from toolgate.protocol.ids import uuid7
from toolgate.runtime.call_arguments import arguments_json
from toolgate.runtime.hook_source import hooks_of
from toolgate.runtime.pending import PendingResult, Work
from toolgate.runtime.policy_source import check_policy
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.scheduler import run_calls
from toolgate.runtime.tracing import traced
from toolgate.tools.base import CallableTool, Tool
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.protocol.record import Decision
    from toolgate.runtime.pipeline import Pipeline


class CallableToolset:
    """The tools that a caller may use, and the one way to call them.

    Every `Tool` is gated by the context's mode (no context: `chat_safe`). A bare `CallableTool` has no modes: it was
    handed over deliberately.
    """

    def __init__(
        self, tools: ToolRegistry | Iterable[Tool[Any] | CallableTool], context: ToolContext | None = None
    ) -> None:
        self.context = context if context is not None else ToolContext()
        self.registry = tools if isinstance(tools, ToolRegistry) else _registry_of(tools)
        check_policy(self.context)  # a policy that cannot be used is refused now, not at the first call
        hooks_of(self.context)
        self._unstarted: list[PendingResult] = []
        self._starting_on: asyncio.AbstractEventLoop | None = None

    @functools.cached_property
    def _pipeline(self) -> Pipeline:
        from toolgate.runtime.pipeline import Pipeline  # twenty modules that an agent needs after its first request

        return Pipeline(self.registry, self.context)

    @functools.cached_property
    def _work(self) -> Work:
        """The pipeline, with a span per call if the application has configured a tracer."""
        return traced(self._pipeline, self.context.session_id)

    @property
    def tools(self) -> list[ToolDefinition]:
        """What the model is shown: nothing that it could not run."""
        return self._pipeline.visible()

    def handle(self, call: ToolCall) -> PendingResult:
        """Handle one call; it starts no later than its first await or the loop's next turn."""
        loop = asyncio.get_running_loop()
        pending = PendingResult(self._work, call, loop, self._unstarted)
        self._unstarted.append(pending)
        if self._starting_on is not loop:
            self._starting_on = loop
            loop.call_soon(self._start_unstarted)
        return pending

    def call(self, name: str, /, **arguments: object) -> PendingResult:
        """Call a tool with these arguments, under an id of its own: `await toolset.call("grep", pattern="TODO")`.

        A path is passed as its text and a pydantic model as its fields. `TypeError` if JSON cannot express a value.
        """
        return self.handle(ToolCall(id=uuid7(), name=name, arguments=arguments_json(name, arguments)))

    async def handle_all(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Handle the calls of one turn: read-only ones side by side, writers in order; results in call order."""
        return await run_calls(self, calls)

    async def explain(self, call: ToolCall) -> Decision:
        """What would be decided about a call; nothing is executed and nobody is asked."""
        return await self._pipeline.explain(call)

    def is_read_only(self, name: str) -> bool:
        """Whether calls of this tool may run beside others."""
        found = self.registry.declaration(name)
        return found is None or found.read_only or not found.exclusive

    def may_repeat(self, name: str) -> bool:
        """Whether a call of this tool may be repeated if it is unknown whether it has run before."""
        found = self.registry.declaration(name)
        return found is None or found.repeatable

    def _start_unstarted(self) -> None:
        self._starting_on = None
        unstarted, self._unstarted[:] = self._unstarted[:], []
        for pending in unstarted:
            pending.start()


def _registry_of(tools: Iterable[Tool[Any] | CallableTool]) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        if isinstance(tool, Tool):
            registry.add(tool)
        else:
            from toolgate.tools.foreign import ForeignTool

            registry.add(ForeignTool(tool), ungated=True)
    return registry
