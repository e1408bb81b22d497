"""Tests mirror the source: `src/toolgate/<room>/<module>.py` is tested in `tests/<room>/test_<module>.py`."""

import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "toolgate"
LEAST = 0.81
"""The share of modules that have a test file of their own; raise it when it grows."""


def test_most_modules_have_a_test_file_of_their_name() -> None:
    paths = (path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    modules = sorted(path for path in paths if path.stem != "__init__" and "versions" not in path.parts)
    missing = [str(path) for path in modules if not (TESTS / path.parent / f"test_{path.stem}.py").exists()]
    share = 1 - len(missing) / len(modules)
    print(f"{len(modules) - len(missing)} of {len(modules)} modules have a test of their name ({share:.0%})")  # noqa: T201

    assert share >= LEAST, f"modules without a test of their name: {', '.join(missing)}"


ELSEWHERE = re.compile(r"_(?:seeds?|adr|issue|spec|matrix_[a-z])(?:_|$)")
"""Words for documents that are not in the repository."""


def _tests() -> Iterator[tuple[Path, str]]:
    """Every file with tests, and the name of each of its tests."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield path, name


def test_no_test_is_named_after_a_document_that_is_not_here() -> None:
    assert [name for _, name in _tests() if ELSEWHERE.search(name)] == []


def test_the_lists_of_tests_name_tests_that_exist() -> None:
    known = {f"{path.relative_to(TESTS.parent)}::{name}" for path, name in _tests()}
    lines = [
        line.partition("#")[0].strip()
        for file in ("slow_tests.txt", "allowed_skips.txt")
        for line in (TESTS / file).read_text(encoding="utf-8").splitlines()
    ]
    gone = [line for line in lines if "::" in line and line.partition("[")[0] not in known]

    assert gone == [], "run scripts/slow_tests.py, or rename them here"
