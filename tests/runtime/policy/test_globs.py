"""Patterns on text and on paths."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolgate.runtime.policy.globs import PathGlob, TextGlob, is_path_name


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("docs/**", ["docs", "docs/a", "docs/a/b.md", "docs/.hidden", "./docs/a", "x/../docs/a"], ["doc", "docsx/a"]),
        ("docs/**", [], ["docs/../x", "src/docs/a", "../docs/a", "/docs/a", "."]),
        ("**/.git/**", [".git", ".git/config", "a/b/.git/HEAD"], ["git", ".gitignore", "a/.git2/x"]),
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc", "a\n.pyx"]),
        ("src/*.py", ["src/a.py"], ["src/a/b.py", "src", "src/.pyc"]),
        ("src/**/test_?.py", ["src/test_a.py", "src/x/y/test_b.py"], ["src/test_ab.py", "test_a.py"]),
        ("**", [".", "a", "a/b", "/etc/passwd"], []),
        ("a/**/b/**/c", ["a/b/c", "a/x/b/y/z/c", "a/b/b/c"], ["a/c", "a/b/c/d"]),
        ("[id].tsx", ["[id].tsx"], ["i.tsx"]),
    ],
)
def test_path_patterns(pattern: str, fits: list[str], does_not: list[str]) -> None:
    glob = PathGlob(pattern)
    assert [path for path in fits if not glob.matches(path)] == []
    assert [path for path in does_not if glob.matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("abc", ["abc"], ["abcd", "xabc", "abc\n", ""]),
        ("*key*", ["key", "my key\nx", "a/key/b"], ["ke y"]),
        ("a*a", ["aa", "aba", "a\na"], ["a", "ab"]),
        ("a*bc*c", ["abcc", "axbcyc"], ["abc", "acbc"]),
        ("?", ["x", "\n", "漢"], ["", "xy"]),
        ("*", ["", "anything"], []),
        (".*", [".x"], ["x"]),
    ],
)
def test_text_patterns(pattern: str, fits: list[str], does_not: list[str]) -> None:
    glob = TextGlob(pattern)
    assert [text for text in fits if not glob.matches(text)] == []
    assert [text for text in does_not if glob.matches(text)] == []


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_text_patterns_agree_with_a_regular_expression(pattern: str, text: str) -> None:
    expression = "".join({"*": ".*", "?": "."}.get(character, character) for character in pattern)
    assert TextGlob(pattern).matches(text) == (re.fullmatch(expression, text) is not None)


@given(st.lists(st.sampled_from(["a", "b", "**", "*"]), min_size=1, max_size=6), st.lists(st.sampled_from("ab")))
def test_path_patterns_agree_with_a_regular_expression(pattern: list[str], path: list[str]) -> None:
    expression = "".join({"**": "(?:[ab]/)*", "*": "[ab]/"}.get(part, f"{part}/") for part in pattern)
    expected = re.fullmatch(expression, "".join(f"{part}/" for part in path)) is not None
    assert PathGlob("/".join(pattern)).matches("/".join(path) or ".") == expected


def test_a_hostile_pattern_takes_no_time() -> None:
    started = time.process_time()
    assert not TextGlob("*a" * 200 + "b").matches("a" * 100_000)
    assert not PathGlob("**/a/" * 50 + "b").matches("a/" * 1000 + "c")
    assert time.process_time() - started < 5


def test_arguments_that_hold_paths_are_known_by_name() -> None:
    names = ["path", "file_path", "working_dir", "pattern", "content", "xpath"]
    assert [name for name in names if is_path_name(name)] == ["path", "file_path", "working_dir"]
