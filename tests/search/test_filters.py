"""Which files a search looks at."""

import pytest

from toolgate.errors import ToolError
from toolgate.search.filters import Filter

PATHS = ["a.py", "src/b.py", "src/c.txt", "docs/d.md"]


def _chosen(include: str | None, file_type: str | None = None) -> list[str]:
    wanted = Filter.of(include, file_type).wanted
    return [path for path in PATHS if wanted is None or wanted(path.rpartition("/")[2], path)]


@pytest.mark.parametrize(
    ("include", "chosen"),
    [
        (None, PATHS),
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("*.{py,md}", ["a.py", "src/b.py", "docs/d.md"]),
        ("!*.py", ["src/c.txt", "docs/d.md"]),
        ("docs/**", ["docs/d.md"]),
    ],
)
def test_a_glob_without_a_slash_is_about_names_and_one_with_a_slash_about_paths(
    include: str | None, chosen: list[str]
) -> None:
    assert _chosen(include) == chosen


def test_a_type_and_a_glob_are_both_needed() -> None:
    assert _chosen("src/**", "py") == ["src/b.py"]


def test_ripgrep_gets_only_globs_that_mean_the_same_to_it() -> None:
    assert Filter.of("*.{py,txt}", None).name_globs == ("*.{py,txt}",)
    assert Filter.of("[ab]*", None).name_globs == ()
    assert Filter.of("!*.py", None).name_globs == ()


@pytest.mark.parametrize(("include", "file_type", "message"), [(None, "pythn", "unknown"), ("[", None, "valid glob")])
def test_what_is_no_filter_is_refused(include: str | None, file_type: str | None, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        Filter.of(include, file_type)
