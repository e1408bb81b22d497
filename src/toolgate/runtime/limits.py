"""What may leave the pipeline: how much of it, and nothing secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.fast import trusted
from toolgate.runtime.redaction import mask, secrets_of
from toolgate.runtime.run import Run
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.runtime.truncator import Truncator
    from toolgate.workspace.threads import Stop


class OutputLimits:
    """The truncator and the secrets of one context, looked up once."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        output = context.settings.tool_output
        self.surely_fits = min(output.max_lines, output.max_bytes // 4)
        """An output of at most so many characters needs no measuring."""
        self.secrets = secrets_of(context.settings)
        self._truncator: Truncator | None = None

    def masked(self, response: ToolResponse) -> ToolResponse:
        """The response without the runtime's own secrets."""
        return trusted(ToolResponse, {name: self._mask(name, value) for name, value in response.__dict__.items()})

    def _mask(self, name: str, value: object) -> object:
        if name == "error" and value is not None:
            from toolgate.protocol.envelope import ErrorInfo

            assert isinstance(value, ErrorInfo)
            return trusted(ErrorInfo, {"code": value.code, "message": mask(value.message, self.secrets)})
        return value if name == "status" else mask(value, self.secrets)

    async def cut(self, run: Run, response: ToolResponse, output: str) -> tuple[ToolResponse, str]:
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
        keep = run.entry.tool.keep if run.entry is not None else "head"

        def cut(stop: Stop) -> tuple[ToolResponse, str]:
            return truncator.cut(run.call.name, keep, response, output, stop)

        return await in_thread(cut)
