"""Words that become options when the shell expands them."""

import dataclasses

import pytest

from tests.command.analysis.kit import PROJECT
from toolgate.command.analysis import UNRESOLVED, CommandPlan, analyse

_NAMES = ("f", "-delete", "--output=f", "-of", "--pre=.")
HOSTILE = dataclasses.replace(PROJECT, entries={".": _NAMES, "src": ("f",)}.get)


def planned(command: str) -> CommandPlan:
    return analyse(command, HOSTILE)


@pytest.mark.parametrize(
    "command",
    [
        "find . -name x -d*",
        "find . -[d]elete",
        "find *",
        "find . {-delete,}",
        "find {.,-delete}",
        "git log *",
        "git log --o*",
        "git log --{output=f,oneline}",
        "git log {--output=f,}",
        "rg word *",
        "rg word */run.sh",
        "sort *",
        "sort f {-o,g}",
        "tar cf new.tar *",
        "chmod 644 -*",
    ],
)
def test_a_pattern_or_a_brace_expansion_that_becomes_an_option_asks(command: str) -> None:
    assert "an option of" in planned(command).reason or "which is only known when it runs" in planned(command).reason


@pytest.mark.parametrize(
    "command",
    [
        "git log $x",
        'git log "$x"',
        "git log $(cat list)",
        "git log ${x:---output=f}",
        "git log -$x",
        'find "$x"',
        "find . -name ''$(echo a -delete)",
        'find . -name "$@"',
        "rg word $x",
        "cd $x && git log",
        "git -C $x log",
    ],
)
def test_a_rule_that_allows_does_not_cover_an_option_that_only_the_shell_knows(command: str) -> None:
    assert (UNRESOLVED,) in planned(command).commands


@pytest.mark.parametrize("command", ["git log $x", 'git diff "$x"', "git show $(git rev-parse HEAD)", "sort $x"])
def test_without_rules_that_is_no_reason_to_ask(command: str) -> None:
    assert planned(command).reason == ""


@pytest.mark.parametrize(
    "command",
    [
        "ls *",
        "cat *",
        "echo *",
        "grep word *",
        "cat $x",
        "find ./* -name x",
        "find src/* -name x",
        'find . -name "$x"',
        "git log -- *",
        'git log --author "$x"',
        'git log --grep="$x"',
        "git log --oneline *.c",
        "git log src/{a,b}",
        "sort ./*",
        "tar cf new.tar --exclude=*.o src",
        "gcc -I{a,b} -c f.c",
    ],
)
def test_control_what_cannot_become_an_option_is_covered(command: str) -> None:
    plan = planned(command)
    assert ((UNRESOLVED,) in plan.commands, plan.reason) == (False, "")
