"""Directories that can be no root."""

from pathlib import Path

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


async def test_a_root_with_the_home_right_in_it_is_refused_for_what_it_is(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path), environment={"HOME": str(tmp_path / "home")})
    with pytest.raises(ToolError) as caught:
        await session.execute("true")
    await session.close()

    assert f"The home directory '{tmp_path}/home' is right in the project root" in caught.value.message
    assert "set HOME to a directory outside it" in caught.value.next_step


async def test_a_home_deeper_in_the_root_is_no_obstacle(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    home.mkdir(parents=True)
    session = ShellSession(Workspace(tmp_path), environment={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    result = await session.execute("echo done")
    await session.close()

    assert result.stdout == "done\n"
