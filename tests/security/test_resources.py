"""Group R of the attack matrix, the rows about commands: exhaustion of processes, memory, disk, time and sessions."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from tests.support.privileges import UIDS
from tests.support.shells import LAYERS, Shells, processes_with, shells_for
from toolgate.shell.options import MIB, ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=UIDS)
def shells(request: pytest.FixtureRequest, layer: str) -> Iterator[Shells]:
    with shells_for(request.param, layer) as made:
        yield made


def test_r01_a_fork_bomb_is_contained_and_cleaned_up(shells: Shells) -> None:
    shells.options = ShellOptions(processes=64)
    mark = "toolgate_test_bomb"

    async def script(session: ShellSession) -> tuple[CommandResult, float, CommandResult]:
        report = session.sandbox(shells.access)
        if "processes" not in report.limits:
            pytest.skip("root without a control group: mount one that is writable, or run as another user")
        bomb = asyncio.ensure_future(
            session.execute(f"{mark}() {{ {mark} | {mark} & }}; {mark}; sleep 1; wait", 2, shells.access)
        )
        await asyncio.sleep(0.5)
        begin = time.monotonic()
        await asyncio.sleep(0)
        answered = time.monotonic() - begin
        return await bomb, answered, await session.execute("echo alive", 20, shells.access)

    bomb, answered, after = shells.run(script)

    assert "fork" in bomb.stderr
    assert answered < 1
    assert after.stdout == "alive\n"
    assert processes_with(mark) == []


def test_r02_a_greedy_allocation_fails_and_says_why(shells: Shells) -> None:
    shells.options = ShellOptions(memory_bytes=256 * MIB)
    result, after = shells.commands("python3 -I -c 'bytearray(64 << 30)'", "echo alive")

    assert result.exit_code == 1
    assert "MemoryError" in result.stderr
    assert result.hint == "The command hit the limit on memory."
    assert after.stdout == "alive\n"


def test_r03_a_file_that_grows_for_ever_is_stopped(shells: Shells) -> None:
    shells.options = ShellOptions(file_bytes=8 * MIB)
    result, after = shells.commands("dd if=/dev/zero of=$TMPDIR/f bs=1M", "wc -c < $TMPDIR/f")

    assert result.exit_code not in (0, None)
    assert result.hint == "The command hit the limit on the size of a file."
    assert after.stdout == f"{8 * MIB}\n"


def test_r06_an_endless_loop_meets_its_deadline(shells: Shells) -> None:
    result, after = shells.commands("while :; do :; done", "echo alive", timeout=1)

    assert (result.timed_out, result.exit_code) == (True, None)
    assert after.stdout == "alive\n"


@pytest.mark.parametrize("uid", UIDS)
def test_r08_many_sessions_take_turns(uid: int) -> None:
    from toolgate.shell.sandbox.native import Native
    from toolgate.shell.slots import MOST_RUNNING
    from toolgate.workspace import Workspace

    with shells_for(uid, "off") as shells:

        async def all_of_them(first: ShellSession) -> tuple[list[str], int]:
            workspace = Workspace(shells.root)
            sessions = [ShellSession(workspace, layer=Native("off"), environment={}) for _ in range(24)]
            most = 0

            async def watch() -> None:
                nonlocal most
                while True:
                    most = max(most, len(processes_with("toolgate_test_turn")))
                    await asyncio.sleep(0.05)

            watcher = asyncio.ensure_future(watch())
            results = await asyncio.gather(
                *(s.execute(f"bash -c 'sleep 0.1 # toolgate_test_turn'; echo {n}") for n, s in enumerate(sessions))
            )
            watcher.cancel()
            await asyncio.gather(*(session.close() for session in sessions))
            workspace.close()
            return [result.stdout for result in results], most

        outputs, most = shells.run(all_of_them)

    assert outputs == [f"{number}\n" for number in range(24)]
    assert most <= 2 * MOST_RUNNING  # each is seen twice: the helper names its command, too
