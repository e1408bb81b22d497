"""Output limits: masks secrets, truncates long outputs, and drops references to files of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.envelope import ErrorInfo, ToolResponse
from toolgate.protocol.fast import trusted
from toolgate.protocol.references import references
from toolgate.runtime.invocation import Invocation
from toolgate.text.redaction import mask, secrets_of
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.runtime.truncator import Truncator
    from toolgate.workspace.threads import Stop


_TEXTS = frozenset({"data", "text", "stats", "context"})


class OutputLimits:
    """The truncator and the secrets of one context, looked up once."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        output = context.settings.tool_output
        self.surely_fits = min(output.max_lines, output.max_bytes // 4)
        """An output of at most so many characters needs no measuring."""
        self.secrets = secrets_of(context.settings)
        self._truncator: Truncator | None = None

    def masked(self, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
        """The response and its output without the runtime's own secrets."""
        fields = {name: mask(value, self.secrets) for name, value in response.__dict__.items() if name in _TEXTS}
        error = response.error
        if error is not None:
            error = trusted(ErrorInfo, {"code": error.code, "message": mask(error.message, self.secrets)})
        kept = {"status": response.status, "error": error, "content": response.content}
        masked = trusted(ToolResponse, {**fields, **kept})
        return masked, mask(output, self.secrets)

    def owned(self, response: ToolResponse) -> ToolResponse:
        """The response without names of whole outputs that the runtime did not write itself.

        What a result names is shown and served, so a tool must not name a file that is not its own output.
        """
        if "truncation" not in response.data and "full_output" not in response.data:
            return response
        named = references(response.data)
        kept = self._context.state.kept_outputs
        if kept.issuperset(named.values()):
            return response
        data = dict(response.data)
        if "whole" in named:
            data["truncation"] = {**data["truncation"], "full_output_path": None}
        if "full_output" in data:
            own = {name: path for name, path in data["full_output"].items() if path in kept}
            data["full_output"] = own
        return response.model_copy(update={"data": data})

    async def cut(self, invocation: Invocation, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
        """The response and its output, within the limits."""
        from toolgate.workspace.threads import in_thread

        if self._truncator is None:
            from toolgate.runtime.truncator import Truncator

            self._truncator = Truncator(
                self._context.settings.tool_output, self._context.workspace, self._context.clock
            )
        truncator = self._truncator
        if not truncator.needs_cut(response, output):
            return response, output
        keep, keep_data = (
            (invocation.declaration.keep, invocation.declaration.keep_data)
            if invocation.resolved is not None
            else ("head", ())
        )

        def cut(stop: Stop) -> tuple[ToolResponse, str]:
            return truncator.cut(invocation.name, keep, response, output, stop, keep_data=keep_data)

        return await in_thread(cut)
