"""CI's net: a test that passes when it runs once more is printed under the heading `flaky`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "retry_failed.py"
SUITE = """
from pathlib import Path

def test_good():
    pass

def test_passes_the_second_time():
    before = Path("been_here").exists()
    Path("been_here").touch()
    assert before

def test_always_fails():
    assert Path("mended").exists()
"""


ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


def pytest_in(folder: Path) -> int:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False
    ).returncode


def retry(folder: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, SCRIPT], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.partition("== flaky: failed, then passed ==\n")[2].splitlines()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def test_a_test_that_passes_the_second_time_is_named_and_the_run_is_good(suite: Path) -> None:
    (suite / "mended").touch()
    assert pytest_in(suite) == 1

    assert retry(suite) == (0, ["test_suite.py::test_passes_the_second_time"])


def test_a_test_that_fails_twice_fails_the_run_and_is_not_called_flaky(suite: Path) -> None:
    assert pytest_in(suite) == 1

    assert retry(suite) == (1, ["test_suite.py::test_passes_the_second_time"])


def test_a_run_that_failed_without_a_failed_test_stays_failed(suite: Path) -> None:
    assert retry(suite) == (1, [])
