"""The front door: help, version, and everything that is not understood in one line and with exit code 2."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Toolgate
from toolgate import __version__
from toolgate.cli import COMMANDS

PROGRAM = Path(sys.executable).parent / "toolgate"


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_every_command(toolgate: Toolgate, words: tuple[str, ...]) -> None:
    code, out, err = toolgate(*words)

    assert (code, err) == (0, "")
    assert re.findall(r"^  (\w+)  ", out, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_version(toolgate: Toolgate, word: str) -> None:
    assert toolgate(word) == (0, f"toolgate {__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    done = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: toolgate {command}")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["cal"], "toolgate: no command 'cal'; did you mean 'call'?\n"),
        (["zzz"], f"toolgate: no command 'zzz'; the commands are: {', '.join(COMMANDS)}.\n"),
        (["\x1b[2J"], f"toolgate: no command '\\x1b[2J'; the commands are: {', '.join(COMMANDS)}.\n"),
        (["call"], "toolgate call: the following arguments are required: NAME (see toolgate call --help)\n"),
        (["tools", "--nope"], "toolgate tools: unrecognized arguments: --nope (see toolgate tools --help)\n"),
        (
            ["call", "x", "--mode", "admin"],
            "toolgate call: argument --mode: invalid choice: 'admin' (choose from 'chat_safe', 'coding') "
            "(see toolgate call --help)\n",
        ),
        (["policy"], "toolgate policy: the following arguments are required: explain (see toolgate policy --help)\n"),
        (
            ["undo", "--call", "--turn"],
            "toolgate undo: argument --turn: not allowed with argument --call (see toolgate undo --help)\n",
        ),
    ],
)
def test_what_is_not_understood_is_one_line_and_exit_code_2(
    toolgate: Toolgate, words: list[str], complaint: str
) -> None:
    assert toolgate(*words) == (2, "", complaint)


@pytest.mark.parametrize("command", [["call", "current_time"], ["policy", "explain", "ls"], ["undo", "--list"]])
def test_a_bad_setting_is_one_line_that_names_the_variable(
    toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("SESSION_DEFAULT_MODE", "coding")

    code, out, err = toolgate(*command)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"toolgate {command[0]}: SESSION_DEFAULT_MODE: only 'chat_safe' is accepted")


@pytest.mark.parametrize("command", [["call", "current_time"], ["policy", "explain", "ls"], ["undo"]])
def test_a_root_that_is_not_there_is_one_line(toolgate: Toolgate, command: list[str]) -> None:
    code, out, err = toolgate(*command, "--root", "/no/such/directory")

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "/no/such/directory" in err


def test_a_bug_is_one_line_and_no_traceback(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_args: object) -> int:
        raise KeyError("surprise")

    monkeypatch.setattr("toolgate.cli.schema.run", broken)

    assert toolgate("schema") == (
        1,
        "",
        "toolgate schema: unexpected KeyError: 'surprise' (python -X dev -m toolgate schema … shows the traceback)\n",
    )


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        done = subprocess.run([PROGRAM, "schema"], stdout=gone, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (1, b"")


def test_an_ascii_terminal_is_no_error() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([PROGRAM, "call", "nöpe"], capture_output=True, env=environment, check=False)

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_ctrl_c_is_exit_code_130(project: Path) -> None:
    process = subprocess.Popen(
        [PROGRAM, "call", "current_time", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project,
    )
    assert process.stdin is not None
    while not _reads_stdin(process.pid):
        pass
    process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (130, b"", b"toolgate call: interrupted\n")


def _reads_stdin(pid: int) -> bool:
    """Whether the process waits in read(0, …), by its system call."""
    return Path(f"/proc/{pid}/syscall").read_text().startswith("0 0x0 ")


@pytest.mark.parametrize("command", ["chat", "sh"])
@pytest.mark.parametrize("stdin", ["/dev/null", "an empty file", "closed"])
def test_without_input_a_command_ends_quietly(tmp_path: Path, command: str, stdin: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "empty").write_text("")
    redirect = {"/dev/null": "</dev/null", "an empty file": "<../empty", "closed": "<&-"}[stdin]
    environ = {**os.environ, "HOME": str(tmp_path)}
    line = f"exec '{PROGRAM}' {command} {redirect}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=tmp_path / "root", env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_closed_stdout_is_not_taken_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    line = f"exec '{PROGRAM}' sh -c 'echo to-nobody' <&- >&-"
    environ = {**os.environ, "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=tmp_path / "root", env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"to-nobody" in path.read_bytes()] == []
