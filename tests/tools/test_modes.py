"""Modes that a program writes as the enum or as their text."""

from typing import Any

import pytest

from toolgate import ToolMode
from toolgate.errors import ModeError
from toolgate.tools.modes import mode_of


@pytest.mark.parametrize("mode", [*ToolMode, *(mode.value for mode in ToolMode)])
def test_a_mode_or_its_text_is_a_mode(mode: Any) -> None:
    assert mode_of(mode) is ToolMode(mode)


@pytest.mark.parametrize("mode", ["code", "CODING", " coding", "", None, True, 1, b"coding", ["coding"], ToolMode])
def test_what_is_none_is_one_error_that_names_the_modes(mode: Any) -> None:
    with pytest.raises(ModeError) as refused:
        mode_of(mode)
    assert "ToolMode.chat_safe ('chat_safe') or ToolMode.coding ('coding')" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, ValueError)
