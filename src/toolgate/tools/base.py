"""`Tool`: a name, a schema, the modes that may use it, and one method that does the work."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.tools.render import render_response
from toolgate.tools.schema import parameters_schema

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.tools.context import ToolContext

P = TypeVar("P", bound=BaseModel)


@runtime_checkable
class CallableTool(Protocol):
    """The minimum of a foreign tool: a definition, and a call with the parsed arguments.

    The awaitable that it returns MAY carry its own `.cancel()`, which is then called instead of cancelling a task.
    """

    @property
    def tool_definition(self) -> ToolDefinition:
        """What the model is told."""
        ...

    def __call__(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        """Run it."""
        ...


Answer = Callable[[ToolResponse, Callable[[ToolResponse], str]], ToolResponse]
"""Turns the response of the replacing call, and its tool's `render`, into the response of the replaced call."""


class Reroute(NamedTuple):
    """The call that replaces another one: `Bash("edit …")` becomes a call of `edit_file`."""

    tool_name: str
    arguments: dict[str, Any]
    answer: Answer


class Tool(ABC, Generic[P]):
    """Base class of native tools.

    Fail-closed: without `allowed_modes` a tool is neither shown nor run in any mode.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    Params: ClassVar[type[BaseModel]]
    """The arguments; their JSON Schema is what the model sees."""
    has_params: ClassVar[bool] = True
    """Whether the tool has `Params`; a foreign tool has only a schema."""
    group: ToolGroup = ToolGroup.code
    allowed_modes: frozenset[ToolMode] = frozenset()
    approval_modes: frozenset[ApprovalMode] | None = None
    """The approval modes in which it is shown and runs. None: in all of them if it is read-only, else not in `plan`."""
    requires_permission: bool = False
    """Ask a person (or the policy) before every call."""
    read_only: bool = False
    """Changes nothing: may run beside others, and again after a crash."""
    exclusive: bool = True
    """A tool that is not read-only waits for the session's other writers, and they wait for it."""
    idempotent: bool = False
    """Running it twice has the same effect as running it once, so it may run again after a crash."""
    deferred: bool = False
    """An agent's first request only names it; its schema is offered after `load_tools`, `tools NAME` or a call."""
    timeout: float | None = None
    """Seconds that one call may take; None leaves it to the tool."""
    needs: tuple[str, ...] = ()
    """The ports of the context without which the tool is left out."""
    keep: str = "head"
    """Which part of an output that is too long is kept: `head`, `tail` or another row of `TRUNCATIONS`."""
    keep_data: tuple[str, ...] = ()
    """The short members of `data` that stay when an over-long output is cut."""

    @abstractmethod
    async def execute(self, params: P, context: ToolContext) -> ToolResponse:
        """Do the work. May raise `ToolError`."""

    async def prepare(self, params: P, context: ToolContext) -> Plan | ToolResponse | None:
        """Plan the call without changing anything; or return why it cannot work. None: there is nothing to plan."""
        return None

    def reroute(self, params: P, context: ToolContext) -> Reroute | None:
        """The call that replaces this one, if any. It goes through every gate instead of this one."""
        return None

    def resting(self) -> tuple[float, str]:
        """Seconds for which the tool is hidden and refused because something it needs is down, and what that is."""
        return 0.0, ""

    def category(self, response: ToolResponse) -> str | None:
        """`extras.failureCategory` of a response that is not an error but did not end well."""
        return None

    def needs_permission(self, params: P, context: ToolContext) -> bool:
        """Whether this call asks; anything but False does."""
        return self.requires_permission and getattr(params, "dry_run", False) is not True

    def render(self, response: ToolResponse) -> str:
        """What the model reads."""
        return render_response(response)

    @functools.cached_property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments: titles dropped, references inlined."""
        return parameters_schema(self.Params)

    @functools.cached_property
    def tool_definition(self) -> ToolDefinition:
        """What the model is told about this tool."""
        return ToolDefinition(name=self.name, description=self.description, parameters=self.parameters)

    def bind(self, context: ToolContext) -> CallableTool:
        """This tool as a `CallableTool` that goes through every gate of `context`."""
        from toolgate.runtime.bound_tool import BoundTool

        return BoundTool(self, context)
