"""A foreign tool behind the gates: visible as the operator grants, and asking until its definition is approved."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from toolgate.adapters.mcp_client.approvals import ApprovedDefinitions
from toolgate.adapters.mcp_client.config import Grant
from toolgate.adapters.mcp_client.connection import ServerConnection
from toolgate.adapters.mcp_client.errors import ServerUnavailable, failure_response
from toolgate.adapters.mcp_client.results import ResultSource, render, to_response
from toolgate.adapters.mcp_client.tool_definition import OfferedTool, withheld_definition
from toolgate.errors import ToolError
from toolgate.protocol.calls import ToolDefinition
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolGroup
from toolgate.protocol.plan import Access, Plan
from toolgate.text.redaction import mask
from toolgate.text.visible import visible
from toolgate.tools.foreign import ForeignTool, arguments_of
from toolgate.tools.foreign_schema import ForeignSchema

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class _Target:
    """The part of the tool that `ForeignTool` needs; calls go through `execute`."""

    tool_definition: ToolDefinition

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError


class McpTool(ForeignTool):
    """One tool of one server.

    A model sees the approved definition; if none was approved yet, it sees the server's own. Until a person has
    approved the server's current definition, every call asks.
    """

    group = ToolGroup.world

    def __init__(
        self,
        name: str,
        offered: OfferedTool,
        grant: Grant,
        connection: ServerConnection,
        approvals: ApprovedDefinitions,
    ) -> None:
        self.offered = offered
        self.grant = grant
        self.connection = connection
        self._approvals = approvals
        self.on_approved: Callable[[], object] = lambda: None
        """Called when a person approves the definition."""
        super().__init__(_Target(self._definition(name)), grant.modes)
        self.read_only = grant.read_only
        self.requires_permission = not grant.read_only
        self.timeout = connection.config.options.timeout

    @functools.cached_property
    def validator(self) -> ForeignSchema:
        """The validator of the arguments, compiled when the server listed the tool."""
        definition = self.approved if self.state == "changed" else self.offered
        return definition.arguments_validator if definition is not None else ForeignSchema({"type": "object"})

    @property
    def approved(self) -> OfferedTool | None:
        """The definition that was approved last."""
        return self._approvals.get(self.connection.config, self.offered.tool)

    @property
    def state(self) -> str:
        """`approved`, `new` or `changed`."""
        if self.offered.digest == self.grant.pin:
            return "approved"
        approved = self.approved
        if approved is None:
            return "new" if self.grant.pin is None else "changed"
        return "approved" if approved.digest == self.offered.digest else "changed"

    def _definition(self, name: str) -> ToolDefinition:
        if self.state != "changed":
            return self.offered.definition(name)
        if (approved := self.approved) is not None:
            return approved.definition(name)
        return withheld_definition(name, self.connection.config.name, self.offered.tool)

    def resting(self) -> tuple[float, str]:
        """Return the seconds until the next connection attempt, and the problem."""
        seconds = self.connection.resting
        if not seconds:
            return 0.0, ""
        return seconds, f"the MCP server '{self.connection.config.name}' is down ({self.connection.problem})"

    async def prepare(self, params: BaseModel, context: ToolContext) -> Plan | ToolResponse | None:
        """Show the arguments to the approver, and the definition if it is not approved."""
        arguments = json.dumps(arguments_of(params), indent=2, ensure_ascii=True)
        state, server, tool = self.state, self.connection.config.name, self.offered.tool
        summary = f"Call {tool!r} of the MCP server {server!r}"
        access: Access = "read" if self.read_only else "write"
        if state == "approved":
            return Plan(summary=summary, detail=arguments, access=access, payload=self.offered)
        if state == "changed" and (approved := self.approved) is not None:
            reason = "the server has changed the definition of this tool since it was approved"
            about = self.offered.diff(approved)
        else:
            reason = "this tool is used for the first time" if state == "new" else "it is not the pinned definition"
            about = self.offered.readable
        detail = (
            f"{reason}.\nAllowing this call approves the definition below for later calls, too.\n\n{about}\n\n"
            f"{self.offered.digest}\n\nThe call's arguments:\n{arguments}"
        )
        advice = f"without a call: toolgate servers approve {shlex.quote(server)} {shlex.quote(tool)}"
        return Plan(
            summary=f"{summary}: {reason} ({visible(advice, keep='')})",
            detail=detail,
            access=access,
            asks=True,
            reason=reason,
            payload=self.offered,
        )

    async def execute(self, params: BaseModel, context: ToolContext) -> ToolResponse:
        """Call the server. The definition that the person saw and allowed is approved from now on."""
        if context.plan is None or context.plan.payload is not self.offered:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"The server changed '{self.name}' after this call was planned; nothing was done.",
                "Make the call again.",
            )
        await self._approve()
        source = ResultSource(
            server=self.connection.config.name,
            tool=self.offered.tool,
            name=self.name,
            output_validator=self.offered.output_validator,
        )
        return self._masked(await self._call(arguments_of(params), source))

    async def _approve(self) -> None:
        if self.state == "approved":
            return
        from toolgate.workspace.threads import in_thread

        offered = self.offered
        await in_thread(lambda _stop: self._approvals.record(self.connection.config, offered))
        self.on_approved()

    async def _call(self, arguments: dict[str, Any], source: ResultSource) -> ToolResponse:
        from mcp import MCPError
        from pydantic import ValidationError

        try:
            result = await self.connection.call(self.offered.tool, arguments, retry=self.read_only)
        except (MCPError, ServerUnavailable, ValidationError) as error:
            return failure_response(error, source)
        self.connection.mark_healthy()
        if not any(block.type == "image" for block in result.content):
            return to_response(result, source)
        from toolgate.adapters.mcp_client.pictures import images_of

        return to_response(result, source, await images_of(result, self.name))

    def _masked(self, response: ToolResponse) -> ToolResponse:
        """Mask the server's secrets in the response."""
        secrets = self.connection.config.secrets
        return response.model_copy(update={"data": mask(response.data, secrets)}) if secrets else response

    def render(self, response: ToolResponse) -> str:
        """Return the response between marks, as untrusted data."""
        return render(response, self.connection.config.name)
