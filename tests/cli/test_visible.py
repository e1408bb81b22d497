"""Text from elsewhere cannot play tricks on the person who reads it (A07, A09)."""

import json
from types import SimpleNamespace

import pytest

from toolgate.cli.visible import excerpt, for_terminal


def test_an_excerpt_keeps_both_ends_and_counts_the_rest() -> None:
    text = "\n".join(map(str, range(100)))

    assert excerpt(text, lines=4, width=80) == ("0\n1\n⟨96 lines left out⟩\n98\n99", True)


def test_an_excerpt_clips_long_lines_in_the_middle() -> None:
    assert excerpt("a" * 50 + "b" * 50, lines=4, width=10) == ("aaaaa⟨90 characters left out⟩bbbbb", True)


def test_an_excerpt_of_something_short_is_all_of_it() -> None:
    assert excerpt("one\ntwo", lines=4, width=10) == ("one\ntwo", False)


def test_json_for_a_terminal_stays_the_same_json(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"a": "é 中 😀 \x9b2J \u202e \U000e0041 \ud800 \x7f \u2028", "b": ["plain", 1]}
    text = json.dumps(document, ensure_ascii=False, indent=1)
    assert for_terminal(text) == text

    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    shown = for_terminal(text)
    assert json.loads(shown) == document
    assert "é 中 😀 \\u009b2J \\u202e \\udb40\\udc41 \\ud800 \\u007f \\u2028" in shown
