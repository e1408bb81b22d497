"""`todo`: what its words mean."""

import pytest

from toolgate.agent_commands import RoutedCall
from toolgate.agent_commands.router import parse


def arguments(command: str) -> dict[str, object]:
    outcome = parse(command)
    assert isinstance(outcome, RoutedCall), outcome
    return {"tool": outcome.tool_name, **outcome.arguments}


def item(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status}


@pytest.mark.parametrize(
    "command",
    [
        "todo '[x] read' '[>] write' test",
        "todo <<'EOF'\n- [x] read\n- [>] write\n\n* [ ] test\nEOF",
        "todo '[X] read' '[~]write' ' test '",
    ],
)
def test_todo(command: str) -> None:
    items = [item("read", "completed"), item("write", "in_progress"), item("test", "pending")]
    assert arguments(command) == {"tool": "todo", "items": items}


def test_todo_clear_empties_the_list() -> None:
    assert arguments("todo --clear") == {"tool": "todo", "items": []}
