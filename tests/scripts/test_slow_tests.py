"""The list of slow tests: how it is made, and that it names tests that exist."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("slow_tests", ROOT / "scripts" / "slow_tests.py")
assert _SPEC is not None
assert _SPEC.loader is not None
slow_tests = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(slow_tests)

REPORT = """<testsuites><testsuite>
<testcase classname="tests.cli.test_a" name="test_quick" time="0.2"/>
<testcase classname="tests.cli.test_a" name="test_slow[x::y]" time="0.1"/>
<testcase classname="tests.cli.test_a" name="test_slow[z]" time="1.5"/>
<testcase classname="tests.cli.test_b" name="test_many[a]" time="0.4"/>
</testsuite></testsuites>"""


def test_functions_are_listed_once_if_one_of_their_tests_is_slow(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    many = '<testcase classname="tests.cli.test_b" name="test_many[{}]" time="0.4"/>'
    report.write_text(REPORT.replace("</testsuite>", "".join(map(many.format, range(9))) + "</testsuite>", 1))

    assert slow_tests.slow_functions(report) == ["tests/cli/test_a.py::test_slow", "tests/cli/test_b.py::test_many"]


def test_a_test_that_the_report_does_not_have_stays_in_the_list(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    listed = ["tests/cli/test_a.py::test_quick", "tests/cli/test_c.py::test_of_all"]

    assert slow_tests.slow_functions(report, listed) == [
        "tests/cli/test_a.py::test_slow",
        "tests/cli/test_c.py::test_of_all",
    ]


def test_every_listed_test_exists() -> None:
    names = [line for line in slow_tests.LIST.read_text().splitlines() if not line.startswith("#")]
    gone = [name for name in names if not _exists(*name.split("::"))]

    assert names
    assert gone == []


def _exists(path: str, name: str) -> bool:
    file = ROOT / path
    return file.exists() and f"def {name}(" in file.read_text(encoding="utf-8")
