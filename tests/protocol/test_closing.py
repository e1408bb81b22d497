"""`async with`, and one word for closing: `aclose`."""

from pathlib import Path

import pytest

from toolgate import ToolContext, ToolError, Workspace
from toolgate.agent import AgentLoop
from toolgate.errors import StoreError
from toolgate.protocol.closing import AsyncClosing
from toolgate.sessions import Database, InMemorySessions
from toolgate.shell import ShellSession


@pytest.mark.parametrize("kind", [ToolContext, AgentLoop, Database, InMemorySessions, ShellSession])
def test_what_is_open_is_closed_with_one_word(kind: type) -> None:
    assert issubclass(kind, AsyncClosing)


async def test_a_context_ends_its_shell_with_the_block(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        async with ToolContext(workspace=workspace, mode="coding") as context:
            shell = context.shell
            assert (await shell.execute("echo hello")).stdout == "hello\n"
        with pytest.raises(ToolError, match="closed"):
            await shell.execute("echo hello")


async def test_it_is_closed_also_when_the_block_raises(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.db")
    await database.migrate()
    with pytest.raises(LookupError):
        async with database:
            raise LookupError
    await database.aclose()  # closing twice is harmless
    with pytest.raises(StoreError, match="closed"):
        await database.migrate()
