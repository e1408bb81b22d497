"""examples/: every program runs as it stands, on a copy of the demo project, and prints what it is about."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PRINTS = {
    "agent": ["text: I look around.", "call: ls {}", "result: success", "text: There is a README and a package."],
    "ask_at_the_terminal": ["This call was not approved: there is no terminal to ask at."],
    "call_a_tool": ["def ", "NOT_FOUND - "],
    "embedded_gateway": ["The shop.", "{'status': 'ok'}", "page: 200"],
    "evaluate": ["greeting, run 3: passed", "| greeting | 3/3 |"],
    "own_loop": ["2 tools are there, and the first import was found."],
    "own_tool": ["'count_lines'", "{'result': {'lines': ", "ACCESS_DENIED"],
    "policy_for_ci": [
        "write a report: done",
        "write a note: done",
        "remove the note: APPROVAL_DENIED",
        "push: APPROVAL_DENIED",
    ],
    "record_and_replay": ["call 2 (read_file): status was 'error', is 'success'"],
    "web_approvals": ["asked: Create 'from_the_web.txt'", "answered: Created 'from_the_web.txt'", "again: 404"],
    "write_and_undo": ["written: two", "undone: one", "refused: ACCESS_DENIED"],
}
WORDS = {"embedded_gateway": ["--check"]}


def test_every_example_is_tested_and_listed() -> None:
    names = sorted(path.stem for path in EXAMPLES.glob("*.py"))
    listed = (EXAMPLES / "README.md").read_text()
    assert names == sorted(PRINTS)
    assert len(names) >= 10
    assert [name for name in names if f"`{name}.py`" not in listed] == []


@pytest.mark.parametrize("name", PRINTS)
def test_it_runs_and_prints_what_it_is_about(name: str, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    shutil.copytree(EXAMPLES / "shop", project)
    environ = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), str(project), *WORDS.get(name, [])],
        cwd=tmp_path,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in PRINTS[name] if line not in done.stdout] == [], done.stdout + done.stderr


@pytest.mark.parametrize(("key", "said"), [("y", "written"), ("n", "not allowed at the terminal")])
def test_the_one_that_asks_waits_for_the_person_at_its_terminal(tmp_path: Path, key: str, said: str) -> None:
    script = str(EXAMPLES / "ask_at_the_terminal.py")
    terminal = Terminal([script], tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config")}, program=sys.executable)
    try:
        shown = terminal.until("Allow? [y/N")
        assert "write_file asks: Create 'hello.txt'" in shown
        assert "+Hello." in shown
        assert not (tmp_path / "hello.txt").exists()

        terminal.type(f"{key}\n")

        terminal.until(said)
        assert terminal.ended() == 0
        assert (tmp_path / "hello.txt").exists() == (key == "y")
    finally:
        terminal.close()


def test_the_examples_are_type_checked_as_the_rest() -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"]
    assert "examples/*.py" in settings["files"]
