"""What the tests of the MCP server share."""

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    return project
