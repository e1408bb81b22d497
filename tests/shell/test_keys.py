"""Keys by their names."""

import pytest

from toolgate.errors import ToolError
from toolgate.shell.keys import key_code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Enter", "\r"),
        ("enter", "\r"),
        ("Tab", "\t"),
        ("S-Tab", "\x1b[Z"),
        ("Escape", "\x1b"),
        ("Backspace", "\x7f"),
        ("Up", "\x1b[A"),
        ("PageDown", "\x1b[6~"),
        ("F1", "\x1bOP"),
        ("F12", "\x1b[24~"),
        ("C-c", "\x03"),
        ("Ctrl-d", "\x04"),
        ("C-[", "\x1b"),
        ("C-\\", "\x1c"),
        ("M-x", "\x1bx"),
        ("Alt-X", "\x1bX"),
        ("Return", "\r"),
        ("Esc", "\x1b"),
        ("ctrl+c", "\x03"),
        ("Control-D", "\x04"),
        ("^C", "\x03"),
        ("BSpace", "\x7f"),
        ("shift+tab", "\x1b[Z"),
        ("PgDn", "\x1b[6~"),
        ("Page_Up", "\x1b[5~"),
        ("ArrowUp", "\x1b[A"),
        ("DownArrow", "\x1b[B"),
    ],
)
def test_a_key_sends_what_terminals_send(name: str, code: str) -> None:
    assert key_code(name) == code


def test_cursor_keys_follow_the_mode_of_the_program() -> None:
    assert key_code("Down", application=True) == "\x1bOB"


@pytest.mark.parametrize(
    "name", ["", "Return of", "C-", "C-cc", "F13", "M-", "\x1b[A", "up up", "é", "C-1", "x", "^", "ctrl+", "+"]
)
def test_a_key_that_is_none_is_refused_with_examples(name: str) -> None:
    with pytest.raises(ToolError) as caught:
        key_code(name)

    assert caught.value.code == "INVALID_PARAM"
    assert "C-c" in (caught.value.next_step or "")
