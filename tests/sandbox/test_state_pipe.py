"""The host's end of the pipe through which a shell hands over its state."""

import asyncio
import os
from pathlib import Path

import pytest

from toolgate.sandbox.state_pipe import MOST_BYTES, StatePipe


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


async def write(path: Path, text: bytes) -> None:
    """Write as a shell does: in another process, which waits while the pipe is full."""
    process = await asyncio.create_subprocess_exec("sh", "-c", f'cat > "{path}"', stdin=asyncio.subprocess.PIPE)
    await process.communicate(text)


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 1_000_000, MOST_BYTES])
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


async def test_more_than_a_state_may_have_is_read_and_dropped(path: Path) -> None:
    pipe = StatePipe(str(path))
    try:
        await write(path, b"x" * (MOST_BYTES + 1_000_000))
        assert pipe.text() is None
        assert len(pipe._text) == MOST_BYTES + 1
    finally:
        pipe.close()


async def test_closing_removes_the_pipe_also_where_somebody_else_has(path: Path) -> None:
    for remove in (False, True):
        pipe = StatePipe(str(path))
        if remove:
            path.unlink()
        pipe.close()

        assert not path.exists()
