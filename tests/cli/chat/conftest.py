"""Chats at a real terminal."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.support.scripted_server import ScriptedServer

Chat = Callable[..., Terminal]


@pytest.fixture
def chat(project: Path, tmp_path: Path) -> Iterator[Chat]:
    """Begin a chat; it has ended when the test has."""
    begun: list[Terminal] = []

    def begin(*words: str, model: ScriptedServer | None = None, columns: int = 100) -> Terminal:
        environment = {"XDG_DATA_HOME": str(tmp_path / "data"), **(model.environment if model else {})}
        terminal = Terminal(["chat", *words], project, environment, columns)
        begun.append(terminal)
        terminal.until("❯ ")
        return terminal

    yield begin
    for terminal in begun:
        terminal.close()
