"""The command line, called as a program would be: words in; exit code, stdout and stderr out."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from toolgate.cli import main


class Outcome(NamedTuple):
    """What a command leaves behind."""

    code: int
    out: str
    err: str


Toolgate = Callable[..., Outcome]


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
