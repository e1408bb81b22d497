"""The command line, called as a program would be: words in; exit code, stdout and stderr out."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.scripted_server import ScriptedServer, serving
from toolgate.cli import main


class Outcome(NamedTuple):
    """What a command leaves behind."""

    code: int
    out: str
    err: str


Toolgate = Callable[..., Outcome]
Model = Callable[..., ScriptedServer]


def bash(command: str, **more: Any) -> dict[str, Any]:
    """A step of a model that runs a command."""
    return {"call": "Bash", "arguments": {"command": command, **more}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project as the current directory, and no configuration of the user's."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return root


@pytest.fixture
def toolgate(project: Path, capsys: pytest.CaptureFixture[str]) -> Toolgate:
    """Run one command in the project."""

    def run(*words: str) -> Outcome:
        code = main(words)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def model() -> Iterator[Model]:
    """A model that answers with these turns."""
    with contextlib.ExitStack() as opened:
        yield lambda *turns: opened.enter_context(serving(turns))
