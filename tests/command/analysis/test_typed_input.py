"""What is typed into a running command is judged like the command with that text after it."""

import pytest

from toolgate.command.analysis.typed_input import MAX_TYPED, TypedInput, analyse_input


def reasons(command: str, text: str, before: str = "", *, keys: bool = False, terminal: bool = True) -> str:
    typed = TypedInput(command=command, before=before, text=text, keys=keys, terminal=terminal)
    return "; ".join(analyse_input(typed).dangers)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("python3", "1 + 1\n"),
        ("python3 -m pdb app.py", "n\n"),
        ("python3 app.py", "Bob\n"),
        ("bash", "ls -l\n"),
        ("bash", "[ ! -e x ] && echo no\n"),
        ("bash -c 'bash'", "ls\n"),
        ("read -p 'name? ' x; echo $x", "Bob\n"),
        ("cat", "rm -rf x\n"),
        ("npm init", "my-project\n"),
        ("./setup.sh", "y\n"),
        ("less README.md", " q"),
        ("node", "1 + 1\n"),
        ("psql", "select 1;\n"),
    ],
)
def test_ordinary_input_asks_nobody(command: str, text: str) -> None:
    assert reasons(command, text) == ""


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("bash", "rm x\n"),
        ("sh", "ls; rm x\n"),
        ("env A=1 bash", "rm x\n"),
        ("bash -c 'bash'", "rm x\n"),
        ("script -c bash", "rm x\n"),
        ("python3", "import os; os.system('rm x')\n"),
        ("python3 -i app.py", "import shutil; shutil.rmtree('x')\n"),
        ("python3 -m pdb app.py", "import os; os.system('rm x')\n"),
        ("python3 app.py", "__import__('os').system('rm x')\n"),
        ("ipython", "import subprocess\n"),
        ("psql", "\\! rm x\n"),
        ("tclsh", "exec rm x\n"),
        ("gdb ./app", "print 1\n"),
        ("vim x", ":q\n"),
        ("less x", "!rm x\n"),
        ("man ls", "!sh\n"),
        ("bash", "echo '\n"),
        ("bash", "!rm\n"),
        ("bash", "echo !e:s/echo/rm/\n"),
        ("bash", "^echo^rm\n"),
        ("bash", "ls\t"),
        ("bash", "ls\x1b[A\n"),
        ("bash", "\x15rm x\n"),
    ],
)
def test_input_that_may_do_damage_asks(command: str, text: str) -> None:
    assert reasons(command, text) != ""


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_command_that_is_typed_in_pieces_is_judged_whole(cut: int) -> None:
    assert "removes" in reasons("bash", "rm x\n"[cut:], "rm x\n"[:cut])


def test_python_code_in_pieces_is_judged_whole() -> None:
    assert "os.system" in reasons("python3", "tem('ls')\n", "import os\nos.sys")


def test_once_something_dangerous_was_typed_everything_asks() -> None:
    assert reasons("bash", "ls\n", "rm x\n") != ""


@pytest.mark.parametrize("started", ["tclsh", "python3", "gdb", "./own-console", "less x", "bash"])
def test_what_an_earlier_line_started_may_read_the_next(started: str) -> None:
    assert "may read this" in reasons("sh", "echo [exec rm x]\n", f"{started}\n")


@pytest.mark.parametrize("command", ["bash", "python3", "psql", "node"])
def test_keys_that_edit_lines_ask_where_lines_are_run(command: str) -> None:
    assert "only known when it runs" in reasons(command, "", keys=True)


@pytest.mark.parametrize("command", ["npm init", "cat", "less x", "./menu"])
def test_keys_ask_nobody_where_input_is_data(command: str) -> None:
    assert reasons(command, "", keys=True) == ""


def test_more_input_than_is_followed_asks() -> None:
    assert "not followed any more" in reasons("cat", "x", "y" * MAX_TYPED)


def test_text_that_looks_like_the_end_of_a_heredoc_is_only_text() -> None:
    assert reasons("cat", "TOOLGATE-INPUT\nrm x\n") == ""
    assert "removes" in reasons("bash", "TOOLGATE-INPUT\nrm x\n")
