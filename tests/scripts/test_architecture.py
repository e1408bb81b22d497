"""docs/architecture.md shows the rooms of the import contract, and names modules that exist."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def _check(project: Path) -> tuple[int, str]:
    command = [sys.executable, str(project / "scripts" / "architecture.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """As much of the project as the script reads."""
    for folder in ("src", "scripts", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "images"))
    for file in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def test_the_page_is_up_to_date() -> None:
    assert _check(ROOT) == (0, "docs/architecture.md is up to date.\n")


def test_rooms_in_another_order_are_noticed(project: Path) -> None:
    contract = project / "pyproject.toml"
    contract.write_text(contract.read_text().replace('"(cli)",\n    "(evaluation)"', '"(evaluation)",\n    "(cli)"'))
    assert _check(project) == (1, "The rooms or their order have changed: run python scripts/architecture.py.\n")


def test_a_module_that_readers_are_sent_to_and_that_is_gone_is_noticed(project: Path) -> None:
    (project / "src" / "toolgate" / "workspace" / "confine.py").unlink()
    code, said = _check(project)
    assert code == 1
    assert "There is no workspace/confine.py" in said


def test_another_function_or_docstring_is_no_reason_to_draw_again(project: Path) -> None:
    module = project / "src" / "toolgate" / "runtime" / "pipeline.py"
    module.write_text('"""Another sentence."""\n')
    assert _check(project)[0] == 0
