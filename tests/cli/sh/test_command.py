"""`toolgate sh`: piped commands, one command, and a person at a real terminal."""

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolgate.cli.sh.line_source import is_unfinished

PROGRAM = str(Path(sys.executable).parent / "toolgate")


def piped(root: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "sh", *options], cwd=root, input=text, capture_output=True, text=True, timeout=50, check=False
    )


def test_piped_commands_run_one_after_the_other(project: Path) -> None:
    (project / "sub").mkdir()
    done = piped(project, "cd sub\n# a comment\n\nbasename $PWD\nread ../a.txt --limit 1\n")

    assert (done.returncode, done.stdout) == (0, "sub\n     1\tone\n")
    assert "use --offset 1" in done.stderr


def test_the_exit_code_is_that_of_the_last_command(project: Path) -> None:
    assert piped(project, "true\nexit 7\n").returncode == 7
    assert piped(project, "exit 7\ntrue\n").returncode == 0


def test_without_a_person_what_asks_is_denied(project: Path) -> None:
    done = piped(project, "rm a.txt\n")

    assert (done.returncode, done.stdout, (project / "a.txt").exists()) == (1, "", True)
    assert "nobody can be asked here" in done.stderr


def test_quotes_and_heredocs_go_on_over_lines(project: Path) -> None:
    done = piped(project, "cat <<EOF\nx\ny\nEOF\necho 'a\nb'\necho c \\\n  d\n")

    assert done.stdout == "x\ny\na\nb\nc d\n"


def test_one_command_and_its_envelope(project: Path) -> None:
    done = piped(project, "", "-c", "echo hi; exit 3", "--json", "--access", "read")
    envelope = json.loads(done.stdout)

    assert (done.returncode, envelope["data"]["stdout"], envelope["data"]["exit_code"]) == (3, "hi\n", 3)
    assert envelope["data"]["sandbox"]["access"] == "read"


def test_in_chat_safe_mode_everything_is_denied(project: Path) -> None:
    done = piped(project, "ls\n", "--mode", "chat_safe")

    assert (done.returncode, done.stdout) == (1, "")
    assert "not allowed in chat_safe mode" in done.stderr


def test_colon_commands_work_in_scripts_too(project: Path) -> None:
    done = piped(project, ":explain rm a.txt\n:access read\n:tools\n:nope\n: > new\n:env\n")

    assert done.stdout.startswith("ask\n  gate    permission\n")
    assert "Commands have access read." in done.stderr
    assert re.search(r"^read_file +Read a text file", done.stderr, re.MULTILINE)
    assert "There is no :nope." in done.stderr
    assert '"exit_code": 1' in done.stderr, "a colon alone is bash's own, and with read access it cannot write"


def test_a_root_that_is_not_there_is_one_line(project: Path) -> None:
    done = piped(project, "", "--root", "missing")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("ls", False),
        ("echo 'a", True),
        ('echo "a', True),
        ("ls \\", True),
        ("ls \\\\", False),
        ("cat <<EOF", True),
        ("cat <<EOF\nEOF", False),
        ("cat <<-'EOF'\n\tx\n\tEOF", False),
        ("cat <<< x", False),
        ("echo $((1<<n))", False),
    ],
)
def test_a_command_goes_on_until_it_is_closed(text: str, unfinished: bool) -> None:
    assert is_unfinished(text) is unfinished


class Person:
    """Someone at a terminal in front of `toolgate sh`."""

    def __init__(self, root: Path) -> None:
        self.fd, program = pty.openpty()
        self.process = subprocess.Popen(
            [PROGRAM, "sh"],
            cwd=root,
            stdin=program,
            stdout=program,
            stderr=program,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PROMPT_TOOLKIT_NO_CPR": "1"},
        )
        os.close(program)
        self.screen = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, text: str, seconds: float = 25) -> str:
        """What appeared up to and with `text`, without what moves the cursor or colours."""
        end = time.monotonic() + seconds
        while text not in self.screen:
            ready, _, _ = select.select([self.fd], [], [], max(end - time.monotonic(), 0))
            assert ready, f"{text!r} did not appear; the screen says {self.screen!r}"
            self.screen += re.sub(
                r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]", "", os.read(self.fd, 65536).decode(errors="replace")
            ).replace("\r", "")
        before, _, self.screen = self.screen.partition(text)
        return before + text

    def leave(self, seconds: float = 25) -> None:
        """Ctrl-D until it has left: on a line that is still being cleared it means nothing."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.type("\x04")
            if select.select([self.fd], [], [], 0.5)[0]:
                with contextlib.suppress(OSError):  # it has left, and its terminal with it
                    os.read(self.fd, 65536)

    def interrupt(self) -> None:
        """Ctrl-C while a command runs: the terminal is not this session's own, so the signal is sent."""
        self.process.send_signal(2)


@pytest.fixture
def person(project: Path) -> Iterator[Person]:
    someone = Person(project)
    someone.until("❯ ")
    yield someone
    if someone.process.poll() is None:
        someone.process.kill()
    someone.process.wait()
    os.close(someone.fd)


def test_a_person_sees_output_how_it_ended_and_who_allowed_it(person: Person) -> None:
    person.type("echo hello; exit 3\r")
    shown = person.until("allowed")

    assert "\nhello\n" in shown
    assert re.search(r"✗ exit 3 · [\d.]+ m?s · allowed", shown)
    person.until("❯ ")
    person.type("read a.txt\r")
    assert re.search(r"✓ exit 0 · [\d.]+ m?s · → read_file · allowed", person.until("allowed"))


def test_a11_a_person_is_asked_and_decides(person: Person, project: Path) -> None:
    person.type("rm a.txt\r")
    asked = person.until("Allow? [y/N")
    assert "because: 'rm': it removes files" in asked
    person.type("n\n")
    person.until("denied by you")
    assert (project / "a.txt").exists()
    person.until("❯ ")
    person.type("rm a.txt\r")
    person.until("Allow? [y/N")
    person.type("y\n")
    person.until("allowed by you")

    assert not (project / "a.txt").exists()


def test_progress_is_visible_and_ctrl_c_ends_the_command_and_not_the_program(person: Person) -> None:
    person.type("echo begun; sleep 60\r")
    assert "begun" in person.until("⋯ 1 s, Ctrl-C cancels")
    person.interrupt()
    person.until("CANCELLED")
    person.until("❯ ")
    person.type("echo still here\r")
    person.until("exit 0")


def test_ctrl_c_starts_the_line_over_and_ctrl_d_leaves(person: Person) -> None:
    person.type("echo never\x03")
    person.until("❯ ")
    person.leave()

    assert person.process.returncode == 0


def test_the_prompt_says_where_one_is_and_what_may_be_touched(person: Person) -> None:
    person.type("mkdir sub; cd sub\r")
    person.until("project/sub write ❯ ")
    person.type(":access full\r")
    person.until("project/sub full ❯ ")


def test_output_cannot_do_anything_to_the_terminal(person: Person) -> None:
    person.type(r"printf '\033]0;title\007\033[2Jclean\u202e\n'" + "\r")
    person.until("\n")
    shown = person.until("exit 0")

    assert "clean\\u202e" in shown
    assert "\x1b" not in shown


def test_a_flood_is_not_shown_whole(person: Person) -> None:
    person.type("seq 300000\r")
    shown = person.until("exit 0")

    assert "⟨long output: its end is shown when the command is done⟩" in shown
    assert len(shown) < 200_000
    assert "\n300000\n" in shown
