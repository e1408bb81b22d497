"""The host's end of the pipe through which a shell hands over its state."""

import asyncio
import fcntl
import os
import resource
from pathlib import Path

import pytest

from tests.sandbox.kit import VIEWED, python
from tests.sandbox.test_reusable import WHICH, run_settled
from tests.support.shells import EVERY_LAYER, Shells
from toolgate.sandbox import state_pipe
from toolgate.sandbox.state_pipe import MAX_BYTES, StatePipe
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


async def write(path: Path, text: bytes) -> None:
    """Write as a shell does: in another process, which waits while the pipe is full."""
    process = await asyncio.create_subprocess_exec("sh", "-c", f'cat > "{path}"', stdin=asyncio.subprocess.PIPE)
    await process.communicate(text)


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 1_000_000, MAX_BYTES])
async def test_everything_that_was_written_is_kept(path: Path, size: int) -> None:
    pipe = StatePipe(str(path))
    text = os.urandom(size)
    try:
        await write(path, text)
        assert pipe.text() == text
    finally:
        pipe.close()


async def test_several_writers_one_after_the_other(path: Path) -> None:
    pipe = StatePipe(str(path))
    try:
        for part in (b"one", b"two", b"three"):
            await write(path, part)
        assert pipe.text() == b"onetwothree"
    finally:
        pipe.close()


async def test_what_was_taken_is_not_in_the_state_of_the_next_shell(path: Path) -> None:
    pipe = StatePipe(str(path))
    try:
        await write(path, b"x" * (MAX_BYTES + 1_000_000))
        assert pipe.take() == (None, True)
        await write(path, b"second")
        assert pipe.take() == (b"second", True)
        assert pipe.take() == (b"", True)
    finally:
        pipe.close()


def fill(path: Path, size: int) -> None:
    """Enlarge the pipe, and write into it without waiting."""
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        fcntl.fcntl(fd, 1031, size)  # F_SETPIPE_SZ
        assert os.write(fd, b"x" * size) == size
    finally:
        os.close(fd)


async def test_a_pipe_that_was_enlarged_is_read_to_its_end_and_not_used_again(path: Path) -> None:
    pipe = StatePipe(str(path))
    try:
        fill(path, 1 << 20)
        assert pipe.take() == (b"x" * (1 << 20), False)
        assert pipe.take() == (b"", False)
    finally:
        pipe.close()


async def test_a_pipe_that_holds_more_than_is_read_at_once_is_not_empty(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_pipe, "_MAX_CHUNKS", 8)
    pipe = StatePipe(str(path))
    try:
        fill(path, 1 << 20)
        assert pipe.take() == (None, False)
    finally:
        pipe.close()


FILL = """
fd = os.open("/run/toolgate/state", os.O_WRONLY | os.O_NONBLOCK)
fcntl.fcntl(fd, 1031, 1 << 20)
assert os.write(fd, b"x" * 900_000) == 900_000
"""


@VIEWED
def test_a_sandbox_is_not_used_again_if_its_pipe_is_not_empty(shells: Shells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_pipe, "_MAX_CHUNKS", 2)
    monkeypatch.setattr(state_pipe, "_PAUSE", 1000)
    before, filled, _, after = run_settled(
        shells, f"x=before; {WHICH}", f"{python(FILL)}\n{WHICH}; kill -9 $$", "x=after", f"echo $x; {WHICH}"
    )

    assert filled.stdout == before.stdout
    assert after.stdout.splitlines()[0] == "after"
    assert after.stdout.splitlines()[-1] not in before.stdout


async def test_more_than_a_state_may_have_is_read_and_dropped(path: Path) -> None:
    pipe = StatePipe(str(path))
    try:
        await write(path, b"x" * (MAX_BYTES + 1_000_000))
        assert pipe.text() is None
        assert len(pipe._text) == MAX_BYTES + 1
    finally:
        pipe.close()


async def test_closing_removes_the_pipe_also_where_somebody_else_has(path: Path) -> None:
    for remove in (False, True):
        pipe = StatePipe(str(path))
        if remove:
            path.unlink()
        pipe.close()

        assert not path.exists()


FLOOD = """small=after; state=$(trap -p EXIT | grep -o "/[^ '\\"]*/state[^ ;'\\"]*" | head -1)
head -c 60000000 /dev/zero > "$state"; echo written; (exit 7)"""


@EVERY_LAYER
def test_what_a_command_writes_where_its_state_goes_is_not_kept_in_memory(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[list[CommandResult], int, int]:
        largest = 0

        def measure(_stream: str, _text: str) -> None:
            nonlocal largest
            assert session._made is not None
            folder = Path(session._made[0].places._exchange)
            largest = max(largest, sum(path.stat().st_blocks * 512 for path in folder.iterdir()))

        results = [await session.execute("small=before", access=shells.access)]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        results.append(await session.execute(FLOOD, access=shells.access, on_output=measure))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        results.append(await session.execute('echo "$small"', access=shells.access))
        return results, largest, grown * 1024

    (_, flood, after), shared, grown = shells.run_apart(script)

    assert shared < 1_000_000
    assert grown < 40_000_000
    assert (flood.stdout, flood.exit_code) == ("written\n", 7)
    assert "the shell's state after this command was not kept, because it is larger than 4 MiB" in flood.stderr
    assert (after.stdout, after.stderr) == ("before\n", "")
