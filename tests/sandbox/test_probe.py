"""What a machine offers is found out by trying it."""

from pathlib import Path

from toolgate.sandbox.probe import bash, bubblewrap, interpreter, program


def test_a_program_that_works_says_its_first_line() -> None:
    found = program("/bin/sh", "-c", "echo one; echo two")

    assert (found.works, found.detail) == (True, "one")


def test_a_program_that_fails_says_why_or_its_exit_code() -> None:
    assert program("/bin/sh", "-c", "echo broken >&2; exit 3").detail == "broken"
    silent = program("/bin/sh", "-c", "exit 3")
    assert (silent.works, silent.detail) == (False, "exit code 3")


def test_a_program_that_is_not_there_does_not_work() -> None:
    assert not program("/nonexistent/program").works


def test_a_setting_that_names_no_bubblewrap_is_said(tmp_path: Path) -> None:
    (found,) = bubblewrap(str(tmp_path), "/nonexistent/bwrap")

    assert (found.works, found.detail) == (False, "/nonexistent/bwrap cannot be run")


def test_the_shell_and_the_interpreter_are_named_by_their_absolute_paths(tmp_path: Path) -> None:
    shell = bash(str(tmp_path))

    assert shell.works
    assert "GNU bash" in shell.detail
    assert "(/" in shell.detail
    assert Path(interpreter()).is_absolute()
