"""The host's end of the pipe through which a shell hands over its state."""

import asyncio
import os
import resource
from pathlib import Path

import pytest

from tests.support.shells import EVERY_LAYER, Shells
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
        assert pipe.take() is None
        await write(path, b"second")
        assert pipe.take() == b"second"
        assert pipe.take() == b""
    finally:
        pipe.close()


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
