"""First words that a person may allow with any words after them."""

import pytest

from toolgate.command.analysis import analyse
from toolgate.tools.builtin.bash_prefixes import prefixes_of


@pytest.mark.parametrize(
    ("command", "prefixes"),
    [
        ("pytest tests -x", (("pytest",),)),
        ("git log --oneline", (("git", "log"),)),
        ("du -sh src", (("du",),)),
    ],
)
def test_programs_that_run_nothing_else_are_offered(command: str, prefixes: tuple[tuple[str, ...], ...]) -> None:
    assert set(prefixes) <= set(prefixes_of(analyse(command)))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "python script.py",
        "sh -c ls",
        "sudo ls",
        "xargs rm",
        "npm run build",
        "./run.sh",
        "frobnicate now",
        "pytest; rm a",
        "pytest $DIRECTORY",
        "pytest > out.txt",
        "X=1 pytest",
        "env pytest",
        "cargo run",
        "git -c core.pager=x log",
        "",
    ],
)
def test_whatever_runs_something_else_is_allowed_as_it_is_only(command: str) -> None:
    assert prefixes_of(analyse(command)) == ()
