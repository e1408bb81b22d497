"""Variables in the config file of servers."""

import json
from typing import Any

import pytest

from toolgate.adapters.mcp_client import McpConfig, ServerConfig, parse_servers

ENVIRON = {"HOME": "/home/ada", "TOKEN": "abc"}


def servers_in(document: dict[str, Any], **environ: str) -> McpConfig:
    return parse_servers(json.dumps(document), ENVIRON | environ, "/project")


def only(entry: dict[str, Any]) -> ServerConfig:
    (server,) = servers_in({"mcpServers": {"docs": entry}}).servers
    return server


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("${TOKEN}", "abc"),
        ("${env:TOKEN}", "abc"),
        ("${NOPE:-other}", "other"),
        ("${TOKEN:-other}", "abc"),
        ("${workspaceFolder}/x", "/project/x"),
        ("${userHome}/x", "/home/ada/x"),
        ("$TOKEN", "$TOKEN"),
    ],
)
def test_variables_are_filled_in(written: str, filled: str) -> None:
    assert only({"command": "x", "args": [written]}).args == (filled,)
