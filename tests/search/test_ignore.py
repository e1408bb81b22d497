"""Ignore rules."""

import pytest

from toolgate.search.ignore import IgnoreFile, Ignores, below, parse


def ignored(text: str, path: str, *, is_dir: bool = False) -> bool | None:
    """What the rules in `text` say about one path."""
    folder, slash, name = path.rpartition("/")
    return IgnoreFile(parse(text)).verdict(name, folder + slash, is_dir)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("*.log", "a/b.log"),
        ("build", "x/build"),
        ("/build", "build"),
        ("a/b", "a/b"),
        ("a/**", "a/b/c"),
        ("a/**/b", "a/b"),
        ("**/b", "b"),
        ("# no\n\nx", "x"),
        ("x   ", "x"),
        ("x\\ ", "x "),
        ("\\#x", "#x"),
        ("\\!x", "!x"),
        ("!x\nx", "x"),
        ("*.{o,a}", "z.a"),
        ("\ufeffx", "x"),
        ("x\r\ny\r\n", "x"),
    ],
)
def test_a_rule_ignores(text: str, path: str) -> None:
    assert ignored(text, path) is True


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/build", "x/build"),
        ("a/b", "x/a/b"),
        ("a/**", "a"),
        ("build/", "build"),
        ("#x", "#x"),
        ("[z-a]", "z"),
        ("", "x"),
    ],
)
def test_a_rule_does_not_speak_about(text: str, path: str) -> None:
    assert ignored(text, path) is None


def test_the_last_rule_wins() -> None:
    assert [ignored("*.py\n!a.py\na.*", "a.py"), ignored("*.py\n!a.py", "a.py")] == [True, False]


def test_a_rule_with_a_slash_at_its_end_is_about_directories() -> None:
    assert ignored("build/", "build", is_dir=True) is True


def test_the_deepest_file_decides_and_exclude_comes_last() -> None:
    outer = Ignores.inheriting(["*.md", "!keep.py"])
    assert outer is not None
    rules = outer.enter("", "*.py").enter("a/", "!x.py")

    assert [rules.ignored(name, "a/", False) for name in ("x.py", "y.py", "z.md", "keep.py")] == [
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "folders", "left"),
    [
        ("*.log", ["a"], ["/**/*.log"]),
        ("/a/b", ["a"], ["/b"]),
        ("/a", ["a"], []),
        ("/x/b", ["a"], []),
        ("a/**/c", ["a", "b"], ["/**/c"]),
        ("**/a/c", ["a"], ["/c", "/**/a/c"]),
        ("!*/keep/", ["a"], ["!/keep/"]),
    ],
)
def test_rules_are_rewritten_for_a_directory_below(text: str, folders: list[str], left: list[str]) -> None:
    assert [rule.line() for rule in below(parse(text), folders)] == left
