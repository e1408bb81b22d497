"""Both search engines find the same lines, in the same order."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.search.kit import agree, few, paths, trees
from toolgate.tools.builtin.grep import GrepTool

PATTERNS = [
    *("foo", "^foo", "foo$", "^$", "^ *$", r"\bfoo\b", r"\w+", "[[:alpha:]]+$", r"\d+", "(foo|bar)", "fo+", "f.o"),
    *("[^a-z]", "é", r"\S+$", r"\s$", r"^\s", r"[\w-]+y", "(?i)foo", "(?i:FOO)_", r"\x66oo", "x{2}", "a|b|", r"\W"),
    *(
        r"\D\d",
        ".",
        "..",
        "日.",
        "[é日]",
        r"foo\z",
        r"\Afoo",
        r"[^\s]",
        "(?:)",
        r"o\b",
        r"\Bo",
        "$",
        "^",
        "a*",
        r"[\D]",
    ),
    *(r"[^\D]", r"\<foo\>", "-", "[a-]y", "[[:^alpha:]]x", "(?<n>f)oo", "a++1"),
]

INCLUDES = ["*.py", "*.{py,txt}", "src/**", "**/a", "[ab]*", "!*.py", "foo.py", "*/*"]

searches = st.fixed_dictionaries(
    {"pattern": st.sampled_from(PATTERNS), "limit": st.sampled_from([1, 3, 1000])},
    optional={
        "path": paths,
        "case_sensitive": st.booleans(),
        "before": st.integers(0, 2),
        "after": st.integers(0, 2),
        "include": st.sampled_from(INCLUDES),
        "file_type": st.sampled_from(["py", "txt", "make", "log"]),
        "include_ignored": st.booleans(),
    },
)


@few
@given(tree=trees, some=st.lists(searches, min_size=1, max_size=3))
def test_the_engines_find_the_same_lines(tree: dict[str, Any], some: list[dict[str, Any]]) -> None:
    agree(tree, GrepTool(), some)
