"""The Python examples of README.md and docs/ pass `mypy --strict`, as one program per page."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_readme import PAGES, ROOT, _blocks

SAME_CODE = ROOT / "docs" / "zh"
"""Translations have the code of their originals."""


def program(page: Path) -> str:
    """Return the examples of a page as one coroutine, with the lines that they have on the page."""
    lines = ["async def program() -> None:"]
    for block in _blocks(page, "python"):
        lines += [""] * (block.line - 1 - len(lines))
        lines += [f"    {line}" if line else "" for line in block.code.splitlines()]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_python_example_is_typed(tmp_path: Path) -> None:
    files = []
    for page in PAGES:
        if SAME_CODE not in page.parents and _blocks(page, "python"):
            name = str(page.relative_to(ROOT).with_suffix("")).replace("/", "_").replace("-", "_")
            files.append(tmp_path / f"example_{name}.py")
            files[-1].write_text(program(page), encoding="utf-8")
    assert len(files) > 20
    command = [sys.executable, "-m", "mypy", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.replace(f"{tmp_path}/", "").splitlines()[:-1] == [], done.stderr
