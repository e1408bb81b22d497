"""A foreign tool behind the gates: visible as the operator says, asked about until its definition is approved."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from toolgate.adapters.mcp_client.approvals import Approvals
from toolgate.adapters.mcp_client.config import Grant
from toolgate.adapters.mcp_client.connection import Link
from toolgate.adapters.mcp_client.failures import Unavailable, failed_call
from toolgate.adapters.mcp_client.results import Source, rendered, response_of
from toolgate.adapters.mcp_client.tool_definition import Offer, withheld
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
    """What `ForeignTool` needs to know of it; calls go through `execute`."""

    tool_definition: ToolDefinition

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError


class McpTool(ForeignTool):
    """One tool of one server.

    A model is shown the approved definition. While there is none, it is shown the server's own; while that differs from
    the approved one, the approved one. Until a person has approved what the server says now, every call asks.
    """

    group = ToolGroup.world

    def __init__(self, name: str, offer: Offer, grant: Grant, link: Link, approvals: Approvals) -> None:
        self.offer = offer
        self.grant = grant
        self.link = link
        self._approvals = approvals
        self.approved_now: Callable[[], object] = lambda: None
        """Called when a person has approved the definition."""
        super().__init__(_Target(self._definition(name)), grant.modes)
        self.read_only = grant.read_only
        self.requires_permission = not grant.read_only
        self.timeout = link.config.gate.timeout

    @functools.cached_property
    def validator(self) -> ForeignSchema:
        """What judges the arguments: compiled when the server listed the tool, not when it is registered."""
        shown = self.approved if self.state == "changed" else self.offer
        return shown.judge if shown is not None else ForeignSchema({"type": "object"})

    @property
    def approved(self) -> Offer | None:
        """The definition that was approved last."""
        return self._approvals.get(self.link.config, self.offer.tool)

    @property
    def state(self) -> str:
        """`approved`, `new` or `changed`."""
        if self.offer.digest == self.grant.pin:
            return "approved"
        approved = self.approved
        if approved is None:
            return "new" if self.grant.pin is None else "changed"
        return "approved" if approved.digest == self.offer.digest else "changed"

    def _definition(self, name: str) -> ToolDefinition:
        if self.state == "changed":
            approved = self.approved
            return approved.definition(name) if approved else withheld(name, self.link.config.name, self.offer.tool)
        return self.offer.definition(name)

    def resting(self) -> tuple[float, str]:
        """Seconds until the server is tried again, and what is wrong with it."""
        seconds = self.link.resting
        return seconds, f"the MCP server '{self.link.config.name}' is down ({self.link.trouble})" if seconds else ""

    async def prepare(self, params: BaseModel, context: ToolContext) -> Plan | ToolResponse | None:
        """What a person is asked about: the arguments, and the definition if it is not approved."""
        arguments = json.dumps(arguments_of(params), indent=2, ensure_ascii=True)
        state, server, tool = self.state, self.link.config.name, self.offer.tool
        summary = f"Call {tool!r} of the MCP server {server!r}"
        access: Access = "read" if self.read_only else "write"
        if state == "approved":
            return Plan(summary=summary, detail=arguments, access=access, payload=self.offer)
        if state == "changed" and (approved := self.approved) is not None:
            reason = "what the server says about this tool has changed since it was approved"
            about = self.offer.difference(approved)
        else:
            reason = (
                "this tool is used for the first time" if state == "new" else "it is not the definition that is pinned"
            )
            about = self.offer.shown
        detail = (
            f"{reason}.\nAllowing this call approves the definition below for later calls, too.\n\n{about}\n\n"
            f"{self.offer.digest}\n\nThe call's arguments:\n{arguments}"
        )
        advice = f"without a call: toolgate servers approve {server} {tool}"
        return Plan(
            summary=f"{summary}: {reason} ({visible(advice, keep='')})",
            detail=detail,
            access=access,
            asks=True,
            reason=reason,
            payload=self.offer,
        )

    async def execute(self, params: BaseModel, context: ToolContext) -> ToolResponse:
        """Call the server; what was shown and allowed is approved from now on."""
        if context.plan is None or context.plan.payload is not self.offer:
            raise ToolError(
                ErrorCode.CONFLICT,
                f"The server changed '{self.name}' after this call was planned; nothing was done.",
                "Make the call again.",
            )
        await self._approve()
        source = Source(
            server=self.link.config.name,
            tool=self.offer.tool,
            name=self.name,
            promise=self.offer.promise,
        )
        return self._masked(await self._call(arguments_of(params), source))

    async def _approve(self) -> None:
        if self.state == "approved":
            return
        from toolgate.workspace.threads import in_thread

        offer = self.offer
        await in_thread(lambda _stop: self._approvals.record(self.link.config, offer))
        self.approved_now()

    async def _call(self, arguments: dict[str, Any], source: Source) -> ToolResponse:
        from mcp import MCPError
        from pydantic import ValidationError

        try:
            result = await self.link.call(self.offer.tool, arguments, again=self.read_only)
        except (MCPError, Unavailable, ValidationError) as error:
            return failed_call(error, source)
        self.link.worked()
        return response_of(result, source)

    def _masked(self, response: ToolResponse) -> ToolResponse:
        """The answer without what the server was given in confidence."""
        secrets = self.link.config.secrets
        return response.model_copy(update={"data": mask(response.data, secrets)}) if secrets else response

    def render(self, response: ToolResponse) -> str:
        """The answer between marks, as data from outside."""
        return rendered(response, self.link.config.name)
