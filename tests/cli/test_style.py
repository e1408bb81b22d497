"""Colour only where it is wanted; columns that line up."""

import io

import pytest

from toolgate.cli.style import Style, columns, width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_gets_colour() -> None:
    assert Style(Terminal())("x", "bold", "red") == "\033[1;31mx\033[0m"


def test_a_file_gets_none() -> None:
    assert Style(io.StringIO())("x", "red") == "x"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_whoever_wants_none_gets_none(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    assert Style(Terminal())("x", "red") == "x"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([["a", "bb", "c"], ["aaa", "b", "cc"]]) == [["a  ", "bb", "c"], ["aaa", "b ", "cc"]]


def test_wide_and_combining_characters_count_as_they_show() -> None:
    assert [width("漢字"), width("e\u0301")] == [4, 1]
