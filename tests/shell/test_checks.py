"""Calls that cannot be run are refused before anything is started."""

from pathlib import Path

import pytest

from toolgate.errors import ToolError
from toolgate.shell.checks import check_access, check_command, check_root, check_timeout
from toolgate.shell.options import ShellOptions
from toolgate.workspace import Workspace


@pytest.mark.parametrize(
    ("command", "message"), [("a\0b", "NUL"), ("\ud800", "half of a character"), ("é" * 6, "12 bytes; at most 10")]
)
def test_a_command_that_no_shell_can_take_is_refused(command: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        check_command(command, 10)


def test_a_command_of_just_the_limit_is_taken() -> None:
    check_command("é" * 5, 10)


@pytest.mark.parametrize(
    ("access", "roots", "message"),
    [("all", [], "one of read, write, full"), ("write", ["/x"], "need access"), ("full", ["x"], "absolute")],
)
def test_an_access_that_makes_no_sense_is_refused(access: str, roots: list[str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        check_access(access, roots)


def test_a_timeout_is_the_given_one_or_the_default_within_the_bounds() -> None:
    options = ShellOptions()

    assert check_timeout(None, options) == options.timeout
    assert check_timeout(1.5, options) == 1.5
    for wrong in (0, -1, options.most_timeout + 1):
        with pytest.raises(ToolError, match="more than 0 and at most"):
            check_timeout(wrong, options)


def test_a_root_that_was_replaced_is_a_conflict(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    workspace = Workspace(root)
    check_root(workspace, str(root))
    other = tmp_path / "other"
    other.mkdir()

    with pytest.raises(ToolError, match="moved or replaced"):
        check_root(workspace, str(other))
    workspace.close()
