"""`edit`: what its words mean."""

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
        ("edit f a b", {"old_string": "a", "new_string": "b", "first_only": True}),
        ("edit f a b --all", {"old_string": "a", "new_string": "b", "replace_all": True}),
        ("edit --all f a b", {"old_string": "a", "new_string": "b", "replace_all": True}),
        ('edit f "--all" b', {"old_string": "--all", "new_string": "b", "first_only": True}),
        ("edit f a ''", {"old_string": "a", "new_string": "", "first_only": True}),
        ("edit f 'a.*' '\\1'", {"old_string": "a.*", "new_string": "\\1", "first_only": True}),
        ("edit f x[0] x[1]", {"old_string": "x[0]", "new_string": "x[1]", "first_only": True}),
        ("edit f $'a\\nb' $'c\\nd'", {"old_string": "a\nb", "new_string": "c\nd", "first_only": True}),
        ("edit f -- --a --b", {"old_string": "--a", "new_string": "--b", "first_only": True}),
    ],
)
def test_edit(command: str, expected: dict[str, object]) -> None:
    assert arguments(command) == {"tool": "edit_file", "path": "f", **expected}
