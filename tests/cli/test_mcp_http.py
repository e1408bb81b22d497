"""`toolgate mcp --http`: its token and the addresses where it may listen."""

import asyncio
from pathlib import Path

import pytest

from tests.adapters.mcp_server.kit import environment, serving_http, small_project, text, words


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    return small_project(tmp_path)


async def test_a_token_is_made_up_where_none_is_set_and_never_shown_to_tools(root: Path) -> None:
    async with serving_http(root, token=None) as server:
        assert len(server.token) > 30
        async with server.client() as connected:
            found = await connected.call_tool("Bash", {"command": f"env; echo {server.token}"})
    assert server.token not in found.model_dump_json()
    assert "[redacted]" in text(found)


async def test_g04_elsewhere_needs_a_token_that_the_operator_chose(root: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *words(root, "--http", "--host", "0.0.0.0", "--port", "0"),
        stderr=asyncio.subprocess.PIPE,
        env=environment(root.parent / "home"),
    )
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2
    assert b"set TOOLGATE_GATEWAY_TOKEN" in err
