"""A session for tests of tools: a root, a toolset, and a way to call."""

import json
from pathlib import Path
from typing import Any

import toolgate
from toolgate.testing import AutoApprover


class Toolbox:
    """Calls tools through the whole pipeline."""

    def __init__(self, root: Path, **context: Any) -> None:
        self.root = root
        self.approver = AutoApprover()
        options = {"approver": self.approver, "session_id": "s", **context}
        self.context = toolgate.ToolContext(
            workspace=toolgate.Workspace(root), mode=toolgate.ToolMode.coding, **options
        )
        self.toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, self.context)

    async def result(self, name: str, /, **arguments: Any) -> toolgate.ToolResult:
        """The whole result of a call."""
        return await self.toolset.handle(toolgate.ToolCall(id="c1", name=name, arguments=json.dumps(arguments)))

    async def __call__(self, name: str, /, **arguments: Any) -> toolgate.ToolResponse:
        """The envelope of a call."""
        return (await self.result(name, **arguments)).response
