"""`bash`: an existing file is a script of the real bash."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolgate import Workspace
from toolgate.shell import BashWrapperHandler, ShellSession


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ShellSession]:
    async with ShellSession(Workspace(tmp_path)) as session:
        yield session


async def test_bash_with_an_existing_file_is_the_real_bash(session: ShellSession, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/s.sh").write_text("echo from the script\n")
    handler = BashWrapperHandler(session)
    assert (await handler.execute("bash cd sub")).exit_code == 0
    assert (await handler.execute("bash s.sh")).stdout == "from the script\n"
    assert (await handler.execute("bash echo -h")).stdout == "-h\n"
