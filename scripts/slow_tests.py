"""Lists the tests that take most of a second or more, from a report of all tests, for `make test` to leave out.

make test-all PYTEST_ARGS="--junitxml=report.xml" && .venv/bin/python scripts/slow_tests.py report.xml
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).parents[1] / "tests" / "slow_tests.txt"
MAX_TEST_SECONDS = 0.8
"""Seconds of one test."""
MAX_FUNCTION_SECONDS = 4.0
"""Seconds of all tests that one function makes."""
_HEAD = "# Tests that take most of a second or more: `make test` leaves them out. Written by scripts/slow_tests.py.\n"


def slow_functions(report: Path) -> list[str]:
    """Return the functions whose tests are slow, as `path::name`."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        path = f"{case.attrib['classname'].replace('.', '/')}.py"
        seconds[f"{path}::{case.attrib['name'].partition('[')[0]}"].append(float(case.attrib["time"]))
    return sorted(
        name for name, took in seconds.items() if max(took) > MAX_TEST_SECONDS or sum(took) > MAX_FUNCTION_SECONDS
    )


if __name__ == "__main__":
    LIST.write_text(_HEAD + "".join(f"{name}\n" for name in slow_functions(Path(sys.argv[1]))), encoding="utf-8")
