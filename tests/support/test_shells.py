"""Shell sessions for tests: nothing runs without a sandbox unless the test says so."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[2]
LOST = """
from tests.support.shells import EVERY_LAYER, Shells, layer, shells

def test_without_a_choice(shells: Shells) -> None: ...

@EVERY_LAYER
def test_with_a_choice(shells: Shells) -> None: ...
"""


def test_a_test_that_chooses_no_layer_never_runs_without_a_sandbox(tmp_path: Path) -> None:
    (tmp_path / "test_lost.py").write_text(LOST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-n",
        "0",
        "-p",
        "no:randomly",
        "-c",
        "/dev/null",
    ]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)], cwd=HERE, capture_output=True, text=True, timeout=150
    )
    found = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]

    assert sorted(name for name in found if "root" in name) == [
        *(f"test_with_a_choice[root-{layer}]" for layer in ("bwrap", "landlock", "namespaces", "off")),
        *(f"test_without_a_choice[root-{layer}]" for layer in ("bwrap", "landlock", "namespaces")),
    ], done.stdout + done.stderr
