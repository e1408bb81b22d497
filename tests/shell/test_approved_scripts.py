"""An approved script runs from a sealed copy, which no job can change."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shell.kit import Session
from tests.support.arena import arena_for
from tests.support.privileges import UIDS, run_as
from tests.support.shells import LAYERS


def in_session(uid: int, layer: str, script: Callable[[Session], Awaitable[Any]], **environment: str) -> Any:
    async def run(root: Path) -> Any:
        session = Session(root, layer, environment)
        try:
            return await script(session)
        finally:
            await session.shell.close()

    with arena_for(uid) as arena:
        return run_as(uid, lambda: asyncio.run(run(arena.root)))


CHANGES = {
    "append": "echo 'echo changed >> log' >> s.sh",
    "in place": "printf 'echo changed >> log\\n%.0s' {1..400} > s.sh",
    "rename": "printf 'echo changed >> log\\n%.0s' {1..400} > t.sh; chmod +x t.sh; mv t.sh s.sh",
}


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
@pytest.mark.parametrize(
    ("change", "command"), [("append", "bash s.sh"), ("rename", "./s.sh"), ("in place", ". ./s.sh")]
)
def test_a_job_does_not_change_a_script_while_it_runs_approved(uid: int, layer: str, change: str, command: str) -> None:
    text = "#!/bin/bash\n" + "read -t 0.001 < /dev/zero; echo ran >> log\n" * 40

    async def script(session: Session) -> tuple[str, list[str], bool]:
        root = session.box.root
        (root / "s.sh").write_text(text)
        (root / "s.sh").chmod(0o755)
        plant = f"while [ ! -e log ]; do :; done; {CHANGES[change]}; echo done > changed; sleep 600"
        await session.run(plant, background=True)
        out = await session.run(f"rm -f nothing; {command}")
        lines = (root / "log").read_text().split()
        while not (root / "changed").exists():  # the job goes on as soon as the script has ended
            await asyncio.sleep(0.01)
        return out, lines, "\nruns s.sh (sha256 " in session.approver.requests[-1].detail

    out, lines, asked = in_session(uid, layer, script)

    assert (out, lines, asked) == ("", ["ran"] * 40, True)


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", ["bwrap", "namespaces"])
def test_an_approved_script_runs_from_a_sealed_copy(uid: int, layer: str) -> None:
    text = "#!/bin/bash\n" + "read -t 0.001 < /dev/zero; echo ran >> log\n" * 40

    async def script(session: Session) -> tuple[str, list[str], int]:
        root = session.box.root
        (root / "s.sh").write_text(text)

        async def append() -> None:
            """Somebody outside the session changes the script as soon as it runs."""
            while not (root / "log").exists():
                await asyncio.sleep(0)
            with (root / "s.sh").open("a") as file:
                file.write("echo changed >> log\n")

        out, _ = await asyncio.gather(session.run("rm -f nothing; bash s.sh"), append())
        return out, (root / "log").read_text().split(), len((root / "s.sh").read_text()) - len(text)

    assert in_session(uid, layer, script) == ("", ["ran"] * 40, len("echo changed >> log\n"))


@pytest.mark.parametrize("uid", UIDS)
@pytest.mark.parametrize("layer", LAYERS)
def test_control_an_approved_script_knows_its_name_its_place_and_its_neighbours(uid: int, layer: str) -> None:
    async def script(session: Session) -> list[str]:
        folder = session.box.root / "bin"
        folder.mkdir()
        (folder / "lib.py").write_text("VALUE = 'neighbour'\n")
        (folder / "x.py").write_text("import lib, sys; print(sys.argv[0], lib.VALUE)\n")
        (folder / "x.sh").write_text('#!/bin/bash\necho "$0 $1"; . "$(dirname "$0")/lib.sh"\n')
        (folder / "x.sh").chmod(0o755)
        (folder / "lib.sh").write_text("echo neighbour\n")
        (folder / "link.sh").symlink_to("x.sh")
        commands = ("bin/x.sh 1", "bash bin/x.sh 1", "bash bin/link.sh 1", "python3 bin/x.py", "cd bin; . ./lib.sh")
        return [await session.run(f"rm -f nothing; {command}") for command in commands]

    assert in_session(uid, layer, script) == [
        "bin/x.sh 1\nneighbour\n",
        "bin/x.sh 1\nneighbour\n",
        "bin/link.sh 1\nneighbour\n",
        "bin/x.py neighbour\n",
        "neighbour\n",
    ]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_that_cannot_seal_a_script_says_so(layer: str) -> None:
    async def script(session: Session) -> bool:
        return any("approved script" in missing for missing in session.shell.sandbox("read").missing)

    assert in_session(os.geteuid(), layer, script) is (layer in ("landlock", "off"))


async def test_a_job_that_starts_programs_all_the_time_can_be_stopped(tmp_path: Path) -> None:
    session = Session(tmp_path, "bwrap")
    starts = (
        "import os; open('begun', 'w').close()\nwhile True: os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)"
    )
    (tmp_path / "starts.py").write_text(starts)  # posix_spawn: a process waits in the kernel until the other one runs
    await session.run("python3 starts.py", background=True)
    while not (tmp_path / "begun").exists():
        await asyncio.sleep(0.01)
    [job] = session.shell.jobs._runs.values()
    stopped = []
    for _ in range(60):
        stopped.append(await job.process.pause())
        job.process.resume()
        await asyncio.sleep(0.002)
    await session.shell.close()

    assert stopped == [True] * 60
