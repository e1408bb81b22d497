"""Tests mirror the source: `src/toolgate/<room>/<module>.py` is tested in `tests/<room>/test_<module>.py`."""

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
