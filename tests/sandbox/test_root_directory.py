"""Directories that can be no root."""

import pytest

from toolgate.errors import ToolError
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


@pytest.mark.parametrize("root", ["/", "/etc", "/tmp"])
async def test_a_system_directory_is_no_root(root: str) -> None:
    session = ShellSession(Workspace(root), environment={"HOME": "/root"})
    with pytest.raises(ToolError) as caught:
        await session.execute("true")
    await session.close()

    assert "narrower project root" in caught.value.next_step
