"""What a running call tells: its output, as progress or as log messages."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.adapters.mcp_server.kit import ERAS, client, lines, near, text
from toolgate.adapters.mcp_server.live_output import MAX_MESSAGE, wants_log

COUNTING = "for i in 1 2 3; do echo $i; sleep 0.2; done"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty project."""
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.mark.parametrize("era", ERAS)
async def test_live_output_comes_as_progress_to_who_wants_it(root: Path, era: str) -> None:
    told: list[tuple[float, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with client(root, era=era) as connected:
        result = await connected.call_tool("Bash", {"command": COUNTING}, progress_callback=progress)
    assert text(result) == "1\n2\n3\n"
    assert told == [(2, "1\n"), (4, "2\n"), (6, "3\n")]


async def test_live_output_comes_as_log_messages_once_a_level_is_set(root: Path) -> None:
    async with lines(root) as server:
        await server.begin()
        await server.call(1, "Bash", command="echo unheard")
        assert server.others == []
        await server.ask(2, "logging/setLevel", level="info")
        await server.call(3, "Bash", command=COUNTING)
        assert [message["params"] for message in server.others] == [
            {"level": "info", "logger": "Bash", "data": f"{number}\n"} for number in (1, 2, 3)
        ]
        await server.ask(4, "logging/setLevel", level="warning")
        await server.call(5, "Bash", command="echo unheard")
        assert len(server.others) == 3


async def test_a_single_request_of_2026_can_ask_for_log_messages(root: Path) -> None:
    told: list[Any] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        told.append(params.data)

    async with near(root, era="auto", logging_callback=log, log_level="debug") as connected:
        await connected.call_tool("Bash", {"command": "echo heard"})
    assert told == ["heard\n"]


async def test_g08_a_flood_is_told_in_part_and_bounded(root: Path) -> None:
    told: list[tuple[float, str]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))

    async with near(root) as connected:
        command = "yes 0123456789 | head -c 3000000"
        await connected.call_tool("Bash", {"command": command}, progress_callback=progress)
        await asyncio.sleep(0)
    assert told
    assert max(len(message) for _, message in told) <= MAX_MESSAGE + 40
    assert any("characters left out⟩" in message for _, message in told)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


@pytest.mark.parametrize(
    ("level", "wanted"), [(None, False), ("debug", True), ("info", True), ("notice", False), ("x", False)]
)
def test_levels_up_to_info_want_to_hear_it(level: str | None, wanted: bool) -> None:
    assert wants_log(level) is wanted
