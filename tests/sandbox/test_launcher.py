"""What starts the sandboxes of a session."""

import asyncio
import os
import resource
from collections.abc import Iterator

import pytest

from tests.support.privileges import UIDS, run_apart
from tests.support.shells import Shells, make_layer, shells_for
from toolgate.process import tree
from toolgate.sandbox.launcher import Launcher
from toolgate.shell.session import ShellSession


@pytest.fixture(params=["bwrap", "namespaces", "landlock", "off"])
def layer(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest, layer: str) -> Iterator[Shells]:
    with shells_for(request.param, layer) as made:
        yield made


def test_only_layers_without_a_program_of_their_own_have_a_fork_server(shells: Shells) -> None:
    async def script() -> tuple[int, int, int]:
        launcher = Launcher(make_layer(shells.layer))
        await launcher.warm_up(network=False)
        await launcher.warm_up(network=False)
        first = len(tree.children(os.getpid()))
        await launcher.warm_up(network=True)
        both = len(tree.children(os.getpid()))
        launcher.close()
        return first, both, len(tree.children(os.getpid()))

    found = run_apart(shells.uid, lambda: asyncio.run(script()))

    gated = 2 if shells.layer == "namespaces" else 1  # the host's network needs one whose connections are not checked
    assert found == ((0, 0, 0) if shells.layer == "bwrap" else (1, gated, 0))


def test_commands_run_after_the_host_has_raised_its_limit_of_open_files(shells: Shells) -> None:
    async def script(session: ShellSession) -> list[str]:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        await session.execute("true", access=shells.access)
        await session.execute("true", access=shells.access)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2048), hard))
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(500)]
        printed = [(await session.execute("echo next", access=shells.access)).stdout for _ in range(4)]
        for fd in held:
            os.close(fd)
        return printed

    assert shells.run_apart(script) == ["next\n"] * 4
