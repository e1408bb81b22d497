"""Build tools, debuggers and clients of servers."""

import pytest

from tests.command.analysis.kit import dangers


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("make", ""),
        ("make -f Makefile", ""),
        ("make -f -", "the rules of 'make' are only known when it runs"),
        ("make -f- <<< 'all:;ls'", "the rules of 'make' are only known when it runs"),
        ("make -sf- <<< 'all:;ls'", "the rules of 'make' are only known when it runs"),
        ("make 'X:=$(shell ls)'", "a variable of 'make' is what a command prints"),
        ("make CC='rm x;' all", "'make' is not a known program, and may run 'rm'"),
        ("make CC=gcc CFLAGS='-O2 -g' all", ""),
        ("make -f $x", "the rules of 'make' are only known when it runs"),
    ],
)
def test_rules_of_make_that_are_in_no_file_ask(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("npm run build", ""),
        ("npm run publish", "'npm': it publishes"),
        ("npm install x", ""),
        ("npm install -g x", "'npm': it changes the system outside the root"),
        ("npm ls -g", ""),
    ],
)
def test_scripts_of_a_package_that_publish_ask(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cmake -E remove f", "'rm': it removes files"),
        ("cmake -E copy a f", "it overwrites 'f', which exists"),
        ("capsh -- -c 'rm x'", "'rm': it removes files"),
        ("concurrently 'rm x' ls", "'rm': it removes files"),
        ("gdb -ex 'shell ls' a", "its 'gdb' commands may run programs"),
        ("gdb -ex run a", ""),
    ],
)
def test_programs_that_run_commands_in_their_own_way_are_followed(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("http example.com", ""),
        ("http POST example.com a=b", "'http': it sends data to another machine"),
        ("http example.com a=b", "'http': it sends data to another machine"),
        ("http localhost a=b", ""),
        ("gh pr list", ""),
        ("gh pr create", "'gh': it publishes"),
        ("curl -O http://example.com/a/f", "it overwrites 'f', which exists"),
    ],
)
def test_data_for_another_machine_asks(command: str, reason: str) -> None:
    assert dangers(command) == reason
