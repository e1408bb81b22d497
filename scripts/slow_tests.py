"""Lists the tests that take half a second or more, from a report of tests, for `make test` to leave out.

make test-all PYTEST_ARGS="--junitxml=report.xml" && .venv/bin/python scripts/slow_tests.py report.xml

A report of `make test` adds those that have become slow: tests that are not in a report stay in the list.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).parents[1] / "tests" / "slow_tests.txt"
MAX_TEST_SECONDS = 0.5
"""Seconds of one test."""
MAX_FUNCTION_SECONDS = 2.5
"""Seconds of all tests that one function makes."""
_HEAD = "# Tests that take half a second or more: `make test` leaves them out. Written by scripts/slow_tests.py.\n"


def slow_functions(report: Path, listed: Iterable[str] = ()) -> list[str]:
    """Return the functions whose tests are slow, as `path::name`; those that the report does not have, as listed."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        path = f"{case.attrib['classname'].replace('.', '/')}.py"
        seconds[f"{path}::{case.attrib['name'].partition('[')[0]}"].append(float(case.attrib["time"]))
    slow = {name for name, took in seconds.items() if max(took) > MAX_TEST_SECONDS or sum(took) > MAX_FUNCTION_SECONDS}
    return sorted(slow.union(set(listed) - seconds.keys()))


if __name__ == "__main__":
    before = LIST.read_text(encoding="utf-8").splitlines()[1:]
    names = slow_functions(Path(sys.argv[1]), before)
    LIST.write_text(_HEAD + "".join(f"{name}\n" for name in names), encoding="utf-8")
