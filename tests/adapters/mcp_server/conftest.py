"""What the tests of the MCP server share."""

from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import small_project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    return small_project(tmp_path)
