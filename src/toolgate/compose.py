"""The composition root: reads settings, wires implementations to ports, leaves out tools whose port is absent."""

import contextlib
import os
from collections.abc import AsyncIterator

from toolgate.protocol.modes import ToolMode
from toolgate.protocol.ports import Approver, Recorder
from toolgate.runtime.builtin import builtin_registry
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.toolset import CallableToolset
from toolgate.settings import Settings
from toolgate.tools.context import ToolContext
from toolgate.workspace import Workspace


@contextlib.asynccontextmanager
async def open(  # noqa: A001 - `toolgate.open(".")` reads like what it does
    root: str | os.PathLike[str] = ".",
    mode: ToolMode | str = ToolMode.chat_safe,
    approver: Approver | None = None,
    settings: Settings | None = None,
    *,
    recorder: Recorder | None = None,
) -> AsyncIterator[CallableToolset]:
    """The built-in tools on a project, for as long as the block lasts."""
    settings = settings if settings is not None else Settings()
    workspace = Workspace(root)
    context = ToolContext(
        workspace=workspace, mode=ToolMode(mode), approver=approver, settings=settings, recorder=recorder
    )
    try:
        yield available_tools(builtin_registry(), context).toolset(context.mode, context)
    finally:
        await context.aclose()
        workspace.close()


def available_tools(registry: ToolRegistry, context: ToolContext) -> ToolRegistry:
    """The tools whose ports the context has."""
    return registry.filter(
        name
        for name in registry.names()
        if (tool := registry.get(name)) and all(getattr(context, port) is not None for port in tool.needs)
    )
