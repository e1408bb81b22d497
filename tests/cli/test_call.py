"""`toolgate call`: what the model would read, the envelope, exit codes, and asking at a terminal."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Toolgate

PROGRAM = str(Path(sys.executable).parent / "toolgate")
WRITE = ("call", "--mode", "coding", "write_file", '{"path": "new.txt", "content": "hello\\n"}')


def test_it_prints_what_the_model_would_read(toolgate: Toolgate) -> None:
    code, out, err = toolgate("call", "--mode", "coding", "read_file", '{"path": "a.txt"}')

    assert (code, err) == (0, "")
    assert "     1\tone\n     2\ttwo" in out


def test_json_prints_the_envelope(toolgate: Toolgate) -> None:
    code, out, err = toolgate("call", "current_time", "--json")

    assert (code, err) == (0, "")
    assert json.loads(out)["status"] == "success"
    assert list(json.loads(out)) == ["status", "data", "text", "stats", "context"]


def test_partial_is_exit_code_0(toolgate: Toolgate) -> None:
    code, out, _ = toolgate("call", "--mode", "coding", "read_file", '{"path": "a.txt", "limit": 1}', "--json")

    assert (code, json.loads(out)["status"]) == (0, "partial")


def test_an_error_is_exit_code_1_and_goes_to_stderr(toolgate: Toolgate) -> None:
    code, out, err = toolgate("call", "--mode", "coding", "read_file", '{"path": "gone.txt"}')

    assert (code, out) == (1, "")
    assert err.startswith("toolgate call: NOT_FOUND: ")
    assert "gone.txt" in err


def test_an_error_as_json_goes_to_stdout(toolgate: Toolgate) -> None:
    code, out, err = toolgate("call", "--mode", "coding", "read_file", '{"path": "gone.txt"}', "--json")

    assert (code, err, json.loads(out)["error"]["code"]) == (1, "", "NOT_FOUND")


def test_without_a_terminal_only_a_call_that_would_be_asked_about_names_one(
    toolgate: Toolgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = "\nYou can be asked if the command runs in a terminal.\n"
    _, _, asked = toolgate(*WRITE)
    _, _, always = toolgate("call", "--mode", "coding", "Bash", '{"command": "ls", "access": "full"}')
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\ntool = "write_file"\ndecision = "deny"\nreason = "no writes"\n')
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", str(rules))
    _, _, denied = toolgate(*WRITE)

    assert asked.endswith(f'decision = "allow"{advice}')
    assert always.endswith(f"No policy rule can allow it: it has to be asked about.{advice}")
    assert "no writes" in denied
    assert "terminal" not in denied


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("nope", "{}", "TOOL_NOT_FOUND"),
        ("current_time", '{"timezone": ', "INVALID_PARAM"),
        ("current_time", "[]", "INVALID_PARAM"),
        ("current_time", '{"zone": "UTC"}', "INVALID_PARAM"),
        ("current_time", '{"timezone": 1}', "INVALID_PARAM"),
        ("current_time", '{"timezone": NaN}', "INVALID_PARAM"),
    ],
)
def test_a_call_that_cannot_be_understood_is_exit_code_2(
    toolgate: Toolgate, name: str, arguments: str, error: str
) -> None:
    code, out, err = toolgate("call", name, arguments)

    assert (code, out) == (2, "")
    assert err.startswith(f"toolgate call: {error}: ")


def test_an_unknown_name_says_which_command_lists_the_tools(toolgate: Toolgate) -> None:
    _, _, err = toolgate("call", "gerp", '{"pattern": "x"}')

    assert err.endswith("\ntoolgate tools lists the tools of every mode.\n")


def test_the_mode_is_chat_safe_unless_the_operator_says_otherwise(toolgate: Toolgate) -> None:
    code, out, err = toolgate("call", "read_file", '{"path": "a.txt"}')

    assert (code, out) == (1, "")
    assert err.startswith("toolgate call: MODE_DENIED: ")
    assert "--mode coding" in err


def test_arguments_can_come_from_stdin(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"path": "a.txt"}')))

    assert toolgate("call", "--mode", "coding", "read_file", "-").code == 0


def test_stdin_that_is_not_utf8_is_one_line(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"path": "\xff"}')))

    assert toolgate("call", "read_file", "-") == (2, "", "toolgate call: stdin is not UTF-8 (byte 10)\n")


def test_bytes_that_are_not_utf8_on_the_command_line_are_refused(project: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "call", "current_time", b'{"timezone": "\xff"}'], capture_output=True, cwd=project, check=False
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


def test_root_is_an_option(toolgate: Toolgate, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("other\n")

    out = toolgate("call", "--mode", "coding", "--root", str(tmp_path / "other"), "read_file", '{"path": "b.txt"}').out

    assert "other" in out


def test_root_is_a_setting(toolgate: Toolgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.txt").write_text("other\n")
    monkeypatch.setenv("TOOLGATE_WORKSPACE_ROOT", str(tmp_path))

    assert "other" in toolgate("call", "--mode", "coding", "read_file", '{"path": "b.txt"}').out


def test_settings_are_read(toolgate: Toolgate, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "long.txt").write_text("x\n" * 100)
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "5")

    out = toolgate("call", "--mode", "coding", "grep", '{"pattern": "x", "limit": 100}', "--json").out

    assert json.loads(out)["data"]["truncation"]["max_lines"] == 5


def test_a01_without_a_terminal_nobody_is_asked_and_nothing_happens(toolgate: Toolgate, project: Path) -> None:
    code, out, err = toolgate(*WRITE)

    assert (code, out, (project / "new.txt").exists()) == (1, "", False)
    assert err.startswith("toolgate call: APPROVAL_DENIED: ")


def test_an_invalid_policy_stops_the_start(toolgate: Toolgate, project: Path) -> None:
    (project / ".toolgate").mkdir()
    (project / ".toolgate" / "policy.toml").write_text("[[rule]]\n")

    code, out, err = toolgate("call", "current_time")

    assert (code, out) == (2, "")
    assert "policy.toml" in err


@pytest.mark.parametrize(("answer", "code", "written"), [("y", 0, True), ("n", 1, False), ("", 1, False)])
def test_a11_at_a_terminal_the_person_decides(project: Path, answer: str, code: int, written: bool) -> None:
    person, program = pty.openpty()
    process = subprocess.Popen([PROGRAM, *WRITE], stdin=program, stdout=program, stderr=program, cwd=project)
    os.close(program)
    shown = ""
    while "Allow?" not in shown:
        shown += os.read(person, 4096).decode()
    os.write(person, f"{answer}\n".encode())

    process.wait(60)
    os.close(person)

    assert (process.returncode, (project / "new.txt").exists()) == (code, written)
    assert "+hello" in re.sub(r"\x1b\[[0-9;]*m", "", shown)


def test_on_a_terminal_control_characters_of_a_file_are_visible(project: Path) -> None:
    (project / "evil.txt").write_text("a\x1b[2Jb\n")
    person, program = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "call", "--mode", "coding", "read_file", '{"path": "evil.txt"}'],
        stdin=subprocess.DEVNULL,
        stdout=program,
        cwd=project,
    )
    process.wait(60)
    shown = os.read(person, 65536)
    os.close(program)
    os.close(person)

    assert b"a\\x1b[2Jb" in shown


@pytest.mark.parametrize(
    "words", [["Bash", "echo", "a  b"], ["Bash", "echo 'a  b'"], ["Bash", '{"command": "echo \'a  b\'"}']]
)
def test_calls_are_written_as_in_the_chat(toolgate: Toolgate, words: list[str]) -> None:
    done = toolgate("call", *words, "--mode", "coding")
    assert (done.code, done.out.splitlines()[0]) == (0, "a  b")
    assert toolgate("call", "read_file", "path=a.txt", "limit=1", "--mode", "coding").out.endswith("one\n")
    assert toolgate("policy", "explain", *words).out.startswith("allow")
