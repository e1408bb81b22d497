"""A hook's command: its output, its end, and nothing left of it."""

import asyncio
from pathlib import Path

import pytest

from toolgate.process.hook_command import MAX_OUTPUT, run_hook


async def test_input_output_and_exit_code(tmp_path: Path) -> None:
    ended = await run_hook(
        "cat; echo $MINE >&2; pwd >&2; exit 3", b"given", timeout=20, directory=str(tmp_path), environment={"MINE": "x"}
    )
    assert ended == (3, b"given", f"x\n{tmp_path}\n".encode())


async def test_input_that_nobody_reads_is_fine(tmp_path: Path) -> None:
    ended = await run_hook("exit 0", b"x" * 1_000_000, timeout=20, directory=str(tmp_path), environment={})
    assert ended.exit_code == 0


async def test_too_much_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="more than"):
        await run_hook(
            f"head -c {2 * MAX_OUTPUT} /dev/zero; sleep 60",
            b"",
            timeout=20,
            directory=str(tmp_path),
            environment={},
        )


async def test_a_child_that_left_the_group_and_holds_the_pipes_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        await run_hook("setsid sleep 5 & echo x", b"", timeout=0.3, directory=str(tmp_path), environment={})
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("steps", [0, 1, 3, 10])
async def test_a_hook_that_is_cancelled_while_it_starts_leaves_no_process(tmp_path: Path, steps: int) -> None:
    task = asyncio.ensure_future(
        run_hook("echo $$ > pid; sleep 60", b"", timeout=50, directory=str(tmp_path), environment={})
    )
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = (tmp_path / "pid").read_text().strip() if (tmp_path / "pid").exists() else ""
    assert not pid or not Path("/proc", pid).exists()
