"""Sessions take turns for the machine's shells."""

import asyncio
import os

import pytest

from tests.support.shells import EVERY_LAYER, Shells, make_layer
from toolgate.shell.session import ShellSession
from toolgate.shell.slots import MAX_RUNNING
from toolgate.workspace import Workspace

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))


@EVERY_LAYER
@pytest.mark.timeout(300)
def test_r08_a_hundred_sessions_take_turns(shells: Shells) -> None:
    many = 100 if shells.layer == "bwrap" else 34 * TORTURE

    async def all_of_them(first: ShellSession) -> tuple[list[str], list[int], int]:
        workspace, layer = Workspace(shells.root), make_layer(shells.layer)
        host = {"PATH": os.environ["PATH"]}
        sessions = [ShellSession(workspace, layer=layer, environment=host) for _ in range(many)]
        begun: list[int] = []
        running = peak = 0

        async def one(number: int, session: ShellSession) -> str:
            nonlocal running

            def begins(_stream: str, text: str) -> None:
                nonlocal running, peak
                if "begin" in text:
                    begun.append(number)
                    running += 1
                    peak = max(peak, running)

            result = await session.execute("echo begin; sleep 0.1", access=shells.access, on_output=begins)
            running -= 1
            return result.stdout

        outputs = await asyncio.gather(*(one(number, session) for number, session in enumerate(sessions)))
        await asyncio.gather(*(session.close() for session in sessions))
        workspace.close()
        return outputs, begun, peak

    outputs, begun, peak = shells.run_apart(all_of_them)

    assert outputs == ["begin\n"] * many
    assert 1 < peak <= MAX_RUNNING
    assert sorted(begun) == list(range(many))
    assert max(abs(turn - number) for turn, number in enumerate(begun)) <= MAX_RUNNING
