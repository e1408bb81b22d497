"""`git`: options before the subcommand, and what depends on files and settings."""

import dataclasses

import pytest

from tests.command.analysis.kit import PROJECT, dangers
from toolgate.command.analysis import analyse


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("git log", ""),
        ("git -c color.ui=never log", ""),
        ("git -c core.pager=x log", "'git -c core.pager=x' changes what git runs"),
        ("git -C src log", ""),
        ("git clone -u'rm x' . y", "'rm': it removes files"),
        ("git clone -qu 'rm x' . y", "'rm': it removes files"),
        ("git clone -qb main . y", ""),
        ("git grep -nO'rm x' word", "'rm': it removes files"),
        ("git grep -ne Output", ""),
        ("git difftool -yx'rm x'", "'rm': it removes files"),
        ("git -C /srv log", "'/srv' is outside the root"),
    ],
)
def test_an_option_before_the_subcommand_may_change_what_git_runs(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("git frob", "'git frob' is an alias or an unknown command"),
        ("git $x", "the git command is only known when it runs"),
    ],
)
def test_a_subcommand_that_is_not_known_asks(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("git checkout f", "it discards uncommitted work"),
        ("git checkout -- x", "it discards uncommitted work"),
        ("git checkout main", ""),
        ("git checkout -b new", ""),
        ("git checkout -b f main", ""),
    ],
)
def test_a_checkout_of_files_discards_work_and_one_of_a_branch_does_not(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("git reset HEAD~1", "it takes commits off the branch"),
        ("git reset f", ""),
    ],
)
def test_a_reset_to_an_earlier_commit_loses_commits(command: str, reason: str) -> None:
    assert dangers(command) == reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("git config --global user.name", ""),
        ("git config --global --get user.name", ""),
        ("git config --global user.name x", "it changes settings outside the root"),
        ("git config user.name x", ""),
    ],
)
def test_a_setting_outside_the_root_may_be_read_and_not_changed(command: str, reason: str) -> None:
    assert dangers(command) == reason


HOSTILE = dataclasses.replace(PROJECT, git_programs=lambda directory, _: {"src": ("rm x",), ".": ("./own",)}[directory])


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git log", ("./own",)),
        ("git -C src log", ("rm", "x")),
        ("git -C src -C .. log", ("./own",)),
        ("cd src && git status", ("rm", "x")),
    ],
)
def test_a_program_that_the_settings_name_counts_as_a_command(command: str, found: tuple[str, ...]) -> None:
    assert found in analyse(command, HOSTILE).commands
