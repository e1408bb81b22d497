"""`read`: what its words mean."""

import pytest

from toolgate.agent_commands import RoutedCall
from toolgate.agent_commands.router import parse


def arguments(command: str) -> dict[str, object]:
    outcome = parse(command)
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("read f", {"path": "f", "start_line": 1}),
        ("read f --offset 2 --limit 3", {"path": "f", "start_line": 3, "limit": 3}),
        ("read --limit=3 --offset=0 f", {"path": "f", "start_line": 1, "limit": 3}),
        ("read 'a b'", {"path": "a b", "start_line": 1}),
        ("read a\\ b", {"path": "a b", "start_line": 1}),
        ("read -- --help", {"path": "--help", "start_line": 1}),
        ('read "--help"', {"path": "--help", "start_line": 1}),
        ("read *.py", {"path": "*.py", "start_line": 1}),
        ("read /abs/f", {"path": "/abs/f", "start_line": 1}),
        ("read f;", {"path": "f", "start_line": 1}),
        ("\n read f # the file\n", {"path": "f", "start_line": 1}),
        ("read $'a\\tb'", {"path": "a\tb", "start_line": 1}),
        ("read \\\n f", {"path": "f", "start_line": 1}),
    ],
)
def test_read(command: str, expected: dict[str, object]) -> None:
    assert arguments(command) == {"tool": "read_file", **expected}
