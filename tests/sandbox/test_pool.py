"""Which sandboxes a session keeps for its next commands."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.support.shells import make_layer
from toolgate.sandbox.bubblewrap import Bubblewrap
from toolgate.sandbox.layer import Wrapper
from toolgate.sandbox.pool import MAX_SANDBOXES, files_of_mounts
from toolgate.sandbox.view import Mount, View
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace


class Broken(Bubblewrap):
    """A sandbox that ends before it is ready to be used again."""

    def wrap(self, view: View, info_fd: int, control_fd: int = -1) -> Wrapper:
        return Wrapper(["/bin/false"]) if control_fd >= 0 else super().wrap(view, info_fd)


async def test_a_machine_without_reusable_sandboxes_gets_a_new_one_per_command(tmp_path: Path) -> None:
    found = make_layer("bwrap")
    assert isinstance(found, Bubblewrap)
    async with ShellSession(Workspace(tmp_path), layer=Broken(found.program, nested=False)) as session:
        starter, _ = session._parts()
        first = await session.execute("readlink /proc/self/ns/pid", 60)
        while starter._sandboxes.is_for("write"):
            starter.prepare("write", None, 1)
            await asyncio.sleep(0.005)
        second = await session.execute("readlink /proc/self/ns/pid", 60)
        while not starter.has_spare:
            await asyncio.sleep(0.005)

    assert first.stdout != second.stdout


async def test_there_are_no_more_sandboxes_than_the_limit(tmp_path: Path) -> None:
    async with ShellSession(Workspace(tmp_path), layer=make_layer("namespaces")) as session:
        starter, _ = session._parts()
        for _ in range(3 * MAX_SANDBOXES):
            await session.execute("true", 60)
            starter.prepare("write", None, 4)

        assert len(starter._sandboxes._sandboxes) <= MAX_SANDBOXES


@pytest.mark.parametrize("name", ["landlock", "off"])
async def test_layers_without_namespaces_reuse_nothing(tmp_path: Path, name: str) -> None:
    assert not make_layer(name).can_reuse(str(tmp_path))


def test_a_covered_file_that_is_replaced_makes_a_difference(tmp_path: Path) -> None:
    covered, other = tmp_path / "shadow", tmp_path / "shadow-"
    for path in (covered, other):
        path.write_text("root")
    view = View(
        access="write",
        mounts=(Mount("ro", str(covered), "/dev/null"),),
        network=False,
        directory=str(tmp_path),
        state_pipe="",
        base="",
        grants=(),
        processes=1,
    )
    before = files_of_mounts(view)

    assert files_of_mounts(view) == before
    other.rename(covered)
    assert files_of_mounts(view) != before


def test_a_python_that_commands_can_replace_is_no_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = make_layer("bwrap")
    python = Path(sys.executable).resolve()
    monkeypatch.setattr("toolgate.sandbox.bubblewrap.supervisor_interpreter", lambda: str(python))

    assert layer.can_reuse("/elsewhere")
    assert not layer.can_reuse(str(python.parents[1]))
