"""Paths as text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.errors import ToolError
from toolgate.workspace.paths import normal

ROOTS = ("/base/root", "/link")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", "."),
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("a/../b", "b"),
        ("..foo", "..foo"),
        ("...", "..."),
        (" x ", " x "),
        ("-rf", "-rf"),
        ("~/x", "~/x"),
        ("/base/root", "."),
        ("/base/root/", "."),
        ("/base/root/a/../b", "b"),
        ("//base/root/a", "a"),
        ("/link/a", "a"),
    ],
)
def test_normal_form(path: str, expected: str) -> None:
    assert normal(path, ROOTS) == expected


@pytest.mark.parametrize(
    "path", ["..", "../x", "a/../../x", "/", "/base", "/base/root-evil/x", "/base/root/../x", "/etc"]
)
def test_outside_is_denied_and_quoted_as_typed(path: str) -> None:
    with pytest.raises(ToolError) as caught:
        normal(path, ROOTS)

    assert (caught.value.code, caught.value.message) == ("ACCESS_DENIED", f"'{path}' is outside the project root.")


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", "x" * 256, "a/" * 2048], ids=range(5))
def test_what_names_no_file_is_invalid(path: str) -> None:
    with pytest.raises(ToolError) as caught:
        normal(path, ROOTS)

    assert caught.value.code == "INVALID_PARAM"


def test_the_working_directory_comes_first() -> None:
    assert (normal("x", ROOTS, "sub"), normal("../x", ROOTS, "sub"), normal("/link/x", ROOTS, "sub")) == (
        "sub/x",
        "x",
        "x",
    )


def test_out_of_the_working_directory_and_the_root_is_denied() -> None:
    with pytest.raises(ToolError):
        normal("../../x", ROOTS, "sub")


@given(st.text())
def test_every_text_is_a_normal_path_or_refused(text: str) -> None:
    outcome: Any
    try:
        outcome = normal(text, ROOTS)
    except ToolError:
        return
    assert not outcome.startswith("/")
    assert ".." not in outcome.split("/")
    assert normal(outcome, ROOTS) == outcome
