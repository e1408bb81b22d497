"""A small project with tools behind the gates, for every framework the same."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from toolgate import CallableToolset, ToolContext, ToolMode, ToolRegistry, builtin_registry, tool
from toolgate.settings import Settings
from toolgate.testing import AutoApprover
from toolgate.workspace import Workspace


class Bridged:
    """A registry in coding mode on a project, with an approver."""

    def __init__(self, root: Path, *, allow: bool = True) -> None:
        self.root = root
        self.approver = AutoApprover(allow=allow)
        self.workspace = Workspace(root)
        self.registry: ToolRegistry = builtin_registry()
        self.started = asyncio.Event()
        self.ended = False
        self.context = ToolContext(
            workspace=self.workspace,
            mode=ToolMode.coding,
            approver=self.approver,
            settings=Settings.defaults(),
        )

        @tool(modes=[ToolMode.coding])
        async def wait(config: Annotated[str, Field(description="a name that frameworks use themselves")]) -> str:
            """Wait for ever."""
            self.started.set()
            try:
                await asyncio.sleep(1000)
            finally:
                self.ended = True
            return config

        @tool(modes=[ToolMode.coding])
        async def break_down(self_: str = "") -> str:
            """Break down."""
            raise RuntimeError("inside")

        for made in (wait, break_down):
            self.registry.register(made)

    def toolset(self, mode: ToolMode = ToolMode.coding) -> CallableToolset:
        return self.registry.toolset(mode, self.context)


@contextmanager
def bridged(root: Path, *, allow: bool = True) -> Iterator[Bridged]:
    (root / "a.txt").write_text("one\ntwo TODO\n")
    made = Bridged(root, allow=allow)
    try:
        yield made
    finally:
        made.workspace.close()


def denied_by_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> CallableToolset:
    """A toolset without settings of its own, while the user's policy file denies `ls`."""
    policy = folder / "config" / "toolgate" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\ntool = "ls"\ndecision = "deny"\nreason = "no listing"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.delenv("TOOLGATE_POLICY_FILE", raising=False)
    context = ToolContext(workspace=Workspace(folder), mode=ToolMode.coding)
    return builtin_registry().toolset(ToolMode.coding, context)
