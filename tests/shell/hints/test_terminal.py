"""A program that wants a terminal is named at the deadline."""

from tests.shell.hints.kit import ending
from toolgate.shell.hints import hint


def test_at_the_deadline_a_program_that_wants_a_terminal_is_named() -> None:
    assert hint(ending(command="cd src && vim app.py", exit_code=None)).startswith("'vim' wants a terminal")
    assert hint(ending(command="git diff | less", exit_code=None)).startswith("'less' wants a terminal")
    assert hint(ending(command="vim app.py", exit_code=1)) == ""
    assert hint(ending(command="sleep 100", exit_code=None)) == ""


def test_a_question_that_nobody_answers_is_named() -> None:
    assert hint(ending(command="read -p 'Name? ' name; echo $name", exit_code=0)).startswith("'read' got no input")
    assert hint(ending(command="read -rp 'Name? ' name", exit_code=1)).startswith("'read' got no input")
    assert hint(ending(command="read -p 'Name? ' name < f", exit_code=0)) == ""
    assert hint(ending(command="read -r name", exit_code=1)) == ""


def test_a_program_that_asks_and_gets_no_input_is_told() -> None:
    stderr = "Traceback (most recent call last):\nEOFError: EOF when reading a line\n"

    assert hint(ending(command="python3 ask.py", exit_code=1, stderr=stderr)).startswith("The program got no input")
    assert hint(ending(command="echo | python3 ask.py", exit_code=1, stderr=stderr)) == ""
    assert hint(ending(command="python3 ask.py", exit_code=0, stderr=stderr)) == ""
