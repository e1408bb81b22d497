"""The door of the built-in tools: every class of the contract is found there, and is what the registry holds."""

import toolgate
from toolgate.tools import builtin


def test_every_class_comes_through_the_door() -> None:
    held = {
        type(toolgate.builtin_registry().get(definition.name)) for definition in toolgate.builtin_registry().describe()
    }

    assert held == {getattr(builtin, name) for name in builtin.__all__ if name.endswith("Tool")}
