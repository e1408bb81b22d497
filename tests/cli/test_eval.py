"""`toolgate eval`: a directory of tasks, a table, reports and exit codes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolgate

TASK = """
[[call]]
tool = "write_file"
arguments = { path = "b.txt", content = "hello\\n" }

[[check]]
command = "grep -q hello b.txt"

[[check]]
file = "b.txt"
equals = "hello\\n"
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    place = tmp_path / "tasks"
    (place / "workspace").mkdir(parents=True)
    (place / "hello.toml").write_text(TASK)
    return place


def test_every_run_passes(toolgate: Toolgate, tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--repeat", "2", "--json", str(out / "r.json"), "--report", str(out / "r.md"))
    code, shown, err = toolgate("eval", str(tasks), *words)
    assert (code, shown.splitlines()[1].split()[:2]) == (0, ["hello", "2/2"]), err
    assert "2/2 hello run" in err
    assert json.loads((out / "r.json").read_text())["passed"] == 2
    assert "2 of 2 runs passed" in (out / "r.md").read_text()


def test_a_run_that_does_not_pass_is_exit_code_1_and_says_why(toolgate: Toolgate, tasks: Path) -> None:
    (tasks / "never.toml").write_text(TASK.replace("grep -q hello b.txt", "false"))
    code, shown, err = toolgate("eval", str(tasks), "--json", "-")
    assert (code, json.loads(shown)["passed"]) == (1, 1)
    assert "never run 1: FAILED" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "hullo"), "--only 'hullo': there is no such task; there are: hello"),
        (("--repeat", "0"), "repeat must be a number of at least 1"),
        (("--tools", "nope"), "--tools is module:attribute"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_runs(
    toolgate: Toolgate, tasks: Path, words: tuple[str, ...], said: str
) -> None:
    code, shown, err = toolgate("eval", str(tasks), *words)
    assert (code, shown, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_wrong_task_stops_all_of_them(toolgate: Toolgate, tasks: Path) -> None:
    (tasks / "bad.toml").write_text("mesage = 1\n")
    code, shown, err = toolgate("eval", str(tasks))
    assert (code, shown) == (2, "")
    assert "mesage: is not a key of a task" in err


def test_a_message_goes_to_the_model(toolgate: Toolgate, tasks: Path) -> None:
    (tasks / "ask.toml").write_text('message = "write_file path=c.txt content=x"\n[[check]]\nfile = "c.txt"\n')
    code, shown, err = toolgate("eval", str(tasks), "--only", "ask", "--model", "offline")
    assert (code, shown.splitlines()[1].split()[:2]) == (0, ["ask", "1/1"]), shown + err


def test_a_message_without_a_model_is_refused_before_anything_runs(toolgate: Toolgate, tasks: Path) -> None:
    (tasks / "ask.toml").write_text('message = "Write a file."\n[[check]]\nfile = "c.txt"\n')
    code, shown, err = toolgate("eval", str(tasks))
    assert (code, shown, err.count("\n")) == (2, "", 1)
    assert "task 'ask' has a message and no model is configured: pass --model" in err
