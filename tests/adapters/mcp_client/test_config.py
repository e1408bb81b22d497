"""The config file of servers: the formats of others, what is refused and why, and names."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from toolgate import ToolMode
from toolgate.adapters.mcp_client import McpConfig, ServerConfig, parse_servers, read_servers
from toolgate.errors import ConfigError
from toolgate.runtime.policy.load import parse_policy

ENVIRON = {"HOME": "/home/ada", "TOKEN": "abc"}


def servers_in(document: dict[str, Any], **environ: str) -> McpConfig:
    return parse_servers(json.dumps(document), ENVIRON | environ, "/project")


def only(entry: dict[str, Any]) -> ServerConfig:
    (server,) = servers_in({"mcpServers": {"docs": entry}}).servers
    return server


def test_a_program_and_an_address() -> None:
    found = servers_in(
        {
            "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server"], "env": {"A": "1"}, "cwd": "/data"},
                "docs": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "Bearer ${TOKEN}"}},
            }
        }
    ).servers

    files, docs = found
    assert (files.command, files.args, files.cwd) == ("npx", ("-y", "server"), "/data")
    assert files.env["A"].get_secret_value() == "1"
    assert (docs.url, docs.headers["X"].get_secret_value()) == ("https://example.com/mcp", "Bearer abc")


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"docs": {"command": "x"}}},
        {"servers": {"docs": {"type": "stdio", "command": "x"}}, "inputs": []},
        {"mcp": {"servers": {"docs": {"command": "x"}}}, "editor.fontSize": 12},
        {"mcpServers": {"docs": {"command": "x", "autoApprove": ["all"], "alwaysAllow": ["all"]}}},
    ],
    ids=["common", "vscode", "vscode-settings", "keys of others"],
)
def test_the_formats_of_others(document: dict[str, Any]) -> None:
    (server,) = servers_in(document).servers

    assert (server.name, server.command, server.options.tools) == ("docs", "x", {})


@pytest.mark.parametrize("key", ["url", "httpUrl", "serverUrl"])
def test_every_spelling_of_an_address(key: str) -> None:
    assert only({key: "http://127.0.0.1:1/mcp"}).url == "http://127.0.0.1:1/mcp"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"command": "x", "env": {"A": "${NOPE}"}}, "needs the variable NOPE"),
        ({"url": "https://x", "headers": {"A": "${input:key}"}}, "${input:key} cannot be expanded"),
        ({"type": "sse", "url": "https://x"}, "SSE transport"),
        ({"type": "ws", "url": "https://x"}, "'ws' is unknown"),
        ({"command": "x", "envFile": ".env"}, "envFile"),
        ({"command": "x", "url": "https://x"}, "either a command or a url"),
        ({}, "either a command or a url"),
        ({"command": "x", "disabled": True}, "disabled"),
        ({"command": "x", "enabled": False}, "disabled"),
    ],
)
def test_a_server_that_cannot_be_used_is_left_out_with_the_reason(entry: dict[str, Any], reason: str) -> None:
    found = servers_in({"mcpServers": {"docs": entry, "good": {"command": "y"}}})

    assert [server.name for server in found.servers] == ["good"]
    assert reason in found.refused["docs"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ('{"mcpServers": {"docs": {"command": "x", "toolgate": {"tool": {}}}}}', "toolgate.tool: Extra inputs"),
        (
            '{"mcpServers": {"docs": {"command": "x", "toolgate": {"tools": {"a": {"modes": ["codng"]}}}}}}',
            "toolgate.tools.a.modes",
        ),
        ('{"mcpServers": {"docs": {"command": "x", "toolgate": {"tools": {"a": {}}}}}}', "a.modes: Field required"),
        ('{"mcpServers": {"docs": {"command": "x", "args": "y"}}}', "args"),
        ('{"mcpServers": {"docs": {"url": "ftp://x"}}}', "url"),
        ('{"mcpServers": {"docs": {"command": "x"}, "docs": {"command": "y"}}}', "duplicate key 'docs'"),
        ('{"mcpServers": {"docs": 7}}', "is not an object"),
        ('{"somethingElse": 1}', "has no servers"),
        ("{", "is not JSON"),
        ("[]", "expected a JSON object"),
    ],
)
def test_a_mistake_of_the_operator_stops_the_start(document: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_servers(document, ENVIRON)

    assert problem in " ".join(caught.value.problems)


def test_a_secret_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    server = only({"command": "x", "env": {"KEY": "hunter22"}})

    assert "hunter22" not in repr(server)
    with pytest.raises(ConfigError) as caught:
        servers_in({"mcpServers": {"docs": {"command": "x", "env": {"KEY": ["hunter22"]}}}})
    assert "hunter22" not in str(caught.value.problems)


def test_a_file_that_is_not_there_has_no_servers(tmp_path: Path) -> None:
    assert read_servers(tmp_path / "none.json", os.environ) == McpConfig()
    assert read_servers(None, os.environ) == McpConfig()


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a regular file"):
        read_servers(tmp_path, os.environ)


def test_the_longest_pattern_counts_and_the_name_before_it() -> None:
    options = only(
        {
            "command": "x",
            "toolgate": {
                "tools": {
                    "*": {"modes": ["chat_safe"]},
                    "get_*": {"modes": ["coding"]},
                    "get_all": {"modes": []},
                    "*.x": {"modes": ["chat_safe", "coding"]},
                }
            },
        }
    ).options

    granted = {name: options.grant(name) for name in ("other", "get_one", "get_all", "a.x", "aXx")}
    assert {name: grant.modes for name, grant in granted.items() if grant is not None} == {
        "other": {ToolMode.chat_safe},
        "get_one": {ToolMode.coding},
        "get_all": frozenset(),
        "a.x": {ToolMode.chat_safe, ToolMode.coding},
        "aXx": {ToolMode.chat_safe},
    }


def test_the_examples_of_the_page_are_valid() -> None:
    page = (Path(__file__).parents[3] / "docs" / "mcp-client.md").read_text()
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (rule,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    found = parse_servers(example, {"TICKETS_TOKEN": "x", "DOCS_TOKEN": "y"})

    assert ([server.name for server in found.servers], dict(found.refused)) == (["tickets", "docs"], {})
    tickets, docs = found.servers
    assert tickets.options.grant("create_comment") is not None
    assert tickets.options.grant("delete_ticket") is None
    assert docs.options.timeout == 20
    assert [one.tool for one in parse_policy(rule, "the page").rules] == ["tickets__create_comment"]
