"""A running sandbox leaves nothing when it is ended, whenever that is."""

import asyncio
from pathlib import Path

from tests.support.shells import processes_with
from toolgate.process import tree
from toolgate.sandbox.bubblewrap import Bubblewrap
from toolgate.sandbox.layer import Wrapper
from toolgate.sandbox.view import View
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


class HalfMade(Bubblewrap):
    """A set-up that never gets further than having a first process, which is tied to nothing yet."""

    def wrap(self, view: View, info_fd: int, control_fd: int = -1) -> Wrapper:
        return Wrapper(["/bin/sh", "-c", "sleep 654321.75 & wait"])


async def test_a_sandbox_that_is_ended_while_it_is_set_up_leaves_nothing(tmp_path: Path) -> None:
    session = ShellSession(Workspace(tmp_path), layer=HalfMade("/bin/sh", nested=True))
    starter, _ = session._parts()
    starter.prepare("write", None, 1)
    while not tree.children(starter._sandboxes._sandboxes[0].running.pid):
        await asyncio.sleep(0.01)
    await session.close()

    assert processes_with("654321.75") == []
