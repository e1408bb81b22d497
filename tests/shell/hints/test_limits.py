"""A process that the kernel ended for its memory is named."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.shell.hints.kit import MEMORY
from tests.support.privileges import UIDS
from tests.support.shells import Shells, shells_for
from toolgate.shell.options import MIB, ShellOptions
from toolgate.shell.session import ShellSession


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest) -> Iterator[Shells]:
    with shells_for(request.param, "bwrap") as made:
        made.options = ShellOptions(file_bytes=64 * MIB, memory_bytes=256 * MIB, processes=64)
        (made.root / "messages").write_text("getaddrinfo EAI_AGAIN\nCould not resolve host\nRead-only file system\n")
        subprocess.run(["git", "init", "-q", str(made.root)], check=True)
        subprocess.run(["chown", "-R", f"{made.uid}", str(made.root)], check=False)
        yield made


def test_a_process_that_the_kernel_ended_for_its_memory_is_known(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[bool, str, str]:
        counted = "memory is limited for each process, not for all together" not in session.sandbox().missing
        greedy = await session.execute("head -c 3G /dev/zero | tail", 20)
        innocent = await session.execute("kill -9 $$", 20)
        return counted, greedy.hint, innocent.hint

    counted, greedy, innocent = shells.run(script)

    assert innocent == ""
    assert greedy == MEMORY or not counted
