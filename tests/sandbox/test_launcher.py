"""What starts the sandboxes of a session."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from tests.support.privileges import UIDS, run_apart
from tests.support.shells import Shells, make_layer, shells_for
from toolgate.process import tree
from toolgate.sandbox.launcher import Launcher


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
