"""`scripts/floors.py`: a lower bound that nothing tests is found."""

from typing import Any

from scripts.floors import untested

PROJECT: dict[str, Any] = {
    "dependencies": ["pydantic>=2.12,<3; python_version > '3'", "structlog>=25.1"],
    "optional-dependencies": {"all": ["toolgate[cli]"], "cli": ["Prompt_Toolkit>=3.0.50,<4"]},
}


def test_a_bound_below_the_version_that_is_installed_is_named() -> None:
    lock = "pydantic==2.12.0\nstructlog==25.2.0\nprompt-toolkit==3.0.50\n"

    assert list(untested(PROJECT, lock)) == [
        "structlog: pyproject.toml allows 25.1, but 25.2.0 is the lowest that can be installed"
    ]


def test_bounds_that_are_tested_are_not_named() -> None:
    assert list(untested(PROJECT, "pydantic==2.12\nstructlog==25.1.0\nprompt-toolkit==3.0.50\n")) == []
