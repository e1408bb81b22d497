"""Modes are found by their text, as they come from a database or a client."""

import pytest

from toolgate.protocol.modes import ToolMode


def test_a_mode_and_its_text_are_the_same_key() -> None:
    assert "coding" in {ToolMode.coding}
    assert hash("coding") == hash(ToolMode.coding)


def test_an_unknown_mode_is_not_a_mode() -> None:
    with pytest.raises(ValueError, match="Coding"):
        ToolMode("Coding")
