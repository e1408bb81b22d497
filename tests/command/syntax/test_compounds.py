"""Compound commands: loops, conditions, functions, tests."""

import pytest

from toolgate.command.syntax import Compound, Grammar, UnparsableError


def compound(text: str) -> Compound:
    (statement,) = Grammar(text).program().statements
    (command,) = statement.pipelines[0].commands
    assert isinstance(command, Compound)
    return command


@pytest.mark.parametrize(
    ("text", "kind", "bodies", "loops"),
    [
        ("{ a; b; }", "group", 1, False),
        ("(a; b)", "subshell", 1, False),
        ("if a; then b; elif c; then d; else e; fi", "branches", 5, False),
        ("while a; do b; done", "branches", 2, True),
        ("until a; do b; done", "branches", 2, True),
        ("for x in 1 2; do a; done", "branches", 1, True),
        ("for ((i = 0; i < 3; i++)); do a; done", "branches", 1, True),
        ("select x in 1 2; do a; done", "branches", 1, True),
        ("case $x in a | b) c ;; (*) d ;& e) ;; esac", "branches", 3, False),
        ("f() { a; }", "function", 1, False),
        ("function f { a; }", "function", 1, False),
        ("((a + 1))", "expression", 0, False),
        ("[[ -f a && b == c* ]]", "group", 0, False),
        ("[[ a -eq b ]]", "expression", 0, False),
    ],
)
def test_every_kind_holds_its_statements(text: str, kind: str, bodies: int, loops: bool) -> None:
    found = compound(text)
    assert (found.kind, len(found.bodies), found.loops) == (kind, bodies, loops)


def test_a_loop_sets_its_variable_and_expands_its_words() -> None:
    found = compound("for x in a $b; do c; done")
    assert found.variable == "x"
    assert [word.raw for word in found.words] == ["a", "$b"]


def test_a_case_expands_its_word_and_its_patterns() -> None:
    assert [word.raw for word in compound("case $x in a | b) c ;; esac").words] == ["$x", "a", "b"]


def test_redirections_stand_behind_a_compound_command() -> None:
    assert [redirect.operator for redirect in compound("{ a; } > f 2>> g").redirects] == [">", ">>"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("if a; then b", "'fi' is missing"),
        ("while a; done", "'done' is not expected there"),
        ("for in a; do b; done", "'do' is missing"),
        ("for 1 in a; do b; done", "the variable of a loop is missing"),
        ("case a in b c) ;; esac", "a pattern of 'case' is not closed"),
        ("[[ -f a", "'[[' is not closed"),
        ("[[ a ]]b", "'[[' is not closed"),
        ("f() a", "a function has no body"),
        ("(a", "a bracket is not closed"),
    ],
)
def test_what_is_not_closed_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(UnparsableError) as caught:
        Grammar(text).program()
    assert str(caught.value) == problem
