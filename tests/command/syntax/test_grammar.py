"""Statements out of shell code."""

import pytest

from toolgate.command.syntax import Grammar, Lexeme, Simple, UnparsableError
from toolgate.command.syntax.grammar import MAX_COMMANDS


def simple(text: str) -> Simple:
    (statement,) = Grammar(text).program().statements
    (command,) = statement.pipelines[0].commands
    assert isinstance(command, Simple)
    return command


def test_statements_are_separated_by_semicolons_lines_and_ampersands() -> None:
    assert len(Grammar("a; b & c\nd # e; f\n").program().statements) == 4


def test_operators_join_pipelines_and_pipes_join_commands() -> None:
    (statement,) = Grammar("a | b |& c && d || e").program().statements
    assert statement.operators == ("&&", "||")
    assert [len(pipeline.commands) for pipeline in statement.pipelines] == [3, 1, 1]


def test_time_and_negation_stand_before_a_pipeline() -> None:
    (statement,) = Grammar("! time -p ls").program().statements
    assert statement.pipelines[0].timed
    assert statement.pipelines[0].commands == (Simple([Lexeme("ls")]),)


def test_assignments_stand_before_the_words() -> None:
    command = simple("a=1 b+=2 ls c=3")
    assert [(assign.name, assign.known) for assign in command.assigns] == [("a", True), ("b", False)]
    assert [word.raw for word in command.words] == ["ls", "c=3"]


def test_a_declaration_assigns_behind_its_word() -> None:
    command = simple("export a=1 b")
    assert command.assigns == []
    assert [(position, assign.name) for position, assign in command.declared.items()] == [(1, "a")]


def test_an_array_is_a_value_that_is_not_known() -> None:
    (assign,) = simple("a=(1 2)").assigns
    assert not assign.known
    assert [word.raw for word in assign.value] == ["1", "2", ""]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("| a", "a command is missing"),
        ("a &&", "a command is missing"),
        ("a;;", "';;' is not expected there"),
        ("a )", "')' is not expected there"),
        ("fi", "'fi' is not expected there"),
        ("a (b)", "'(' is not expected there"),
        ("a=(1", "an array is not closed"),
        ("a=(1)b", "something follows an array without a blank"),
        ("cat <<E\nx", "the heredoc is not closed by a line 'E'"),
    ],
)
def test_what_is_no_bash_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(UnparsableError) as caught:
        Grammar(text).program()
    assert str(caught.value) == problem


def test_the_number_of_commands_has_a_limit() -> None:
    with pytest.raises(UnparsableError, match=str(MAX_COMMANDS)):
        Grammar("a;" * (MAX_COMMANDS + 1)).program()
