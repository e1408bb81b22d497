"""The calls of `toolgate sh`: made as a model makes them, shown for a person."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from toolgate.cli.sh.screen import OutputStreams
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ports import Approver
from toolgate.protocol.record import CallRecord

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolResult
    from toolgate.runtime.pending import PendingResult
    from toolgate.runtime.toolset import CallableToolset


class PausingApprover:
    """An approver that pauses the screen while it asks."""

    def __init__(self, approver: Approver, screen: OutputStreams) -> None:
        self._approver = approver
        self._screen = screen
        self.asked = 0

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Ask the approver."""
        self.asked += 1
        with self._screen.paused():
            try:
                return await self._approver.decide(request)
            except asyncio.CancelledError:  # the question stays on the screen without an answer
                self._screen.say("\n")
                raise


class ShellCalls:
    """Makes Bash calls and shows their progress. It also records the decisions."""

    def __init__(self, screen: OutputStreams, approver: PausingApprover | None, access: str) -> None:
        self._screen = screen
        self._approver = approver
        self._toolset: CallableToolset | None = None
        self._number = 0
        self._records: list[CallRecord] = []
        self.access = access
        self.last: ToolResult | None = None
        self.exit_code = 0

    def use(self, toolset: "CallableToolset") -> None:
        """Set the toolset, and show the live output of its commands."""
        self._toolset = toolset
        if self._screen.live:
            toolset.context.on_output = self._screen.print_live

    @property
    def toolset(self) -> "CallableToolset":
        """The toolset."""
        assert self._toolset is not None
        return self._toolset

    @property
    def cwd(self) -> str:
        """The shell's current directory."""
        return self.toolset.context.shell.cwd

    async def record(self, record: CallRecord) -> None:
        """Store a record of the running call."""
        self._records.append(record)

    def call(self, command: str = "", **arguments: Any) -> ToolCall:
        """Create the call that a model would make."""
        self._number += 1
        given = {"command": command, "access": self.access, **arguments}
        return ToolCall(id=f"sh-{self._number}", name="Bash", arguments=json.dumps(given))

    def start(self, command: str = "", **arguments: Any) -> "PendingResult":
        """Start a call."""
        self._records.clear()
        if self._approver is not None:
            self._approver.asked = 0
        return self.toolset.handle(self.call(command, **arguments))

    async def finish(self, pending: "PendingResult | None") -> None:
        """Wait for a call with progress on the screen, and show its result."""
        if pending is None:
            return
        async with self._progress():
            result = await pending
        self.last = result
        code = result.response.data.get("exit_code")
        self.exit_code = 1 if result.is_error or code is None else code
        decision = next((record for record in self._records if record.kind == "decision"), None)
        self._screen.show(result, decision, asked=self._approver is not None and self._approver.asked > 0)

    @asynccontextmanager
    async def _progress(self) -> AsyncIterator[None]:
        self._screen.begin()
        try:
            yield
        finally:
            await self._screen.end()
