"""What the tests of `ls`, `glob` and `grep` share: trees of real files, and calls on them."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.privileges import NOBODY, acting_as
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolMode
from toolgate.settings import Settings
from toolgate.tools.base import Tool
from toolgate.tools.context import ToolContext
from toolgate.workspace import Workspace

PYTHON = ""
"""The setting that means: search in Python."""
ENGINES = [None, PYTHON]
"""ripgrep, and the search without it."""


def plant(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, given by path, below `root`."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def context(root: Path, *, ripgrep: str | None = None, **changes: Any) -> ToolContext:
    """A context for tools in `root`."""
    defaults = Settings.defaults()
    shell = defaults.shell.model_copy(update={"ripgrep": ripgrep})
    settings = defaults.model_copy(update={"shell": shell, **changes})
    return ToolContext(workspace=Workspace(root), mode=ToolMode.coding, settings=settings)


async def call(tool: Tool[Any], root: Path, *, ripgrep: str | None = None, **arguments: Any) -> ToolResponse:
    """Execute a tool with checked arguments, without the pipeline around it."""
    surroundings = context(root, ripgrep=ripgrep)
    try:
        return await tool.execute(tool.Params.model_validate(arguments, strict=True), surroundings)
    finally:
        assert surroundings.workspace is not None
        surroundings.workspace.close()


def lines(response: ToolResponse) -> list[str]:
    """The matches of a search, one `file:line:text` each."""
    return [f"{match['file']}:{match['line']}:{match['text']}" for match in response.data["matches"]]


def open_descriptors() -> int:
    """How many descriptors this process has open; what earlier tests left is collected first."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be another user for a while if this is root, who may read everything."""
    with acting_as(NOBODY):
        yield
