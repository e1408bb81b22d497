"""In CI a skip is a failure unless it is allowed; elsewhere it is a skip."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SUITE = """
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="needs a machine that flies")
def test_flies():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    shutil.copy(HERE / "conftest.py", tmp_path)
    (tmp_path / "allowed_skips.txt").write_text("")
    (tmp_path / "test_suite.py").write_text(SUITE)
    return tmp_path


def _run(suite: Path, *words: str, ci: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "no:cacheprovider", "-ra", *words, "."]
    environment = {**os.environ, "CI": ci, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_in_ci_a_skip_fails_and_is_named(suite: Path, workers: str) -> None:
    code, out = _run(suite, "-n", workers, ci="true")

    assert code == 1
    assert "skipped, and nobody allowed it" in out
    assert "1 passed, 1 skipped" in out.splitlines()[-1]


def test_a_skip_that_is_allowed_does_not_fail(suite: Path) -> None:
    (suite / "allowed_skips.txt").write_text("test_suite.py::test_flies  # CI has no wings\n")

    assert _run(suite, ci="true")[0] == 0


def test_elsewhere_a_skip_is_a_skip(suite: Path) -> None:
    code, out = _run(suite, ci="")

    assert (code, "needs a machine that flies" in out) == (0, True)


def test_every_allowed_skip_says_why() -> None:
    lines = (HERE / "allowed_skips.txt").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if line.strip() and not line.startswith("#") and " # " not in line] == []


def test_ci_runs_every_part_of_make_check() -> None:
    makefile = (HERE.parent / "Makefile").read_text(encoding="utf-8")
    script = (HERE.parent / ".ci" / "run").read_text(encoding="utf-8")
    parts = re.search(r"(?m)^check: (.+?) ##", makefile)

    assert parts is not None
    assert [part for part in parts[1].split() if not re.search(rf"\bmake\b.*\b{part}\b", script)] == []


def test_every_marker_is_left_out_of_make_test_and_nothing_out_of_make_test_all() -> None:
    makefile = (HERE.parent / "Makefile").read_text(encoding="utf-8")
    markers = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    declared = [line.partition(":")[0] for line in markers["tool"]["pytest"]["ini_options"]["markers"]]
    recipe = re.search(r"(?m)^test-all:.*\n\t(.+)$", makefile)

    assert f"QUICK := not ({' or '.join(declared)})" in makefile
    assert recipe is not None
    assert recipe[1] == "@$(PYTEST) $(PYTEST_ARGS)"
