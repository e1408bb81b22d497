"""Bash calls of one session in one layer, and what a person was asked."""

import os
from pathlib import Path
from typing import Any

from tests.support.shells import make_layer
from tests.support.toolbox import Toolbox
from toolgate.shell.options import ShellOptions
from toolgate.shell.session import ShellSession
from toolgate.testing import AutoApprover


class Session:
    """Bash calls of one session in one layer, and what a person was asked."""

    def __init__(self, root: Path, layer: str, environment: dict[str, str] | None = None) -> None:
        self.approver = AutoApprover()
        self.box = Toolbox(root, approver=self.approver)
        host = {"PATH": os.environ["PATH"], "HOME": "/root", **(environment or {})}
        self.shell = ShellSession(
            self.box.context.require_workspace(), layer=make_layer(layer), environment=host, options=ShellOptions()
        )
        self.box.context.state.shell = self.shell
        self.lower = "read" if layer == "landlock" else "write"
        """The widest access that the layer enforces and nobody is asked about."""

    async def run(self, command: str, **arguments: Any) -> str:
        result = await self.box.result("Bash", command=command, **{"access": self.lower, **arguments})
        data = result.response.data
        assert "stdout" in data, result.output
        return str(data["stdout"] + data["stderr"])

    async def asked(self, command: str, **arguments: Any) -> str:
        """What a person is shown about a command."""
        before = len(self.approver.requests)
        await self.run(command, **arguments)
        assert len(self.approver.requests) == before + 1
        return self.approver.requests[-1].detail
