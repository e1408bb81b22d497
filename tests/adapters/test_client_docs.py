"""What the pages about clients tell people to paste works: every snippet is parsed, every server in it is started."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.adapters.mcp_server.kit import environment

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "mcp.md", *sorted((DOCS / "clients").glob("*.md"))]
TOKEN = "pasted-by-the-reader"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _snippets(page: Path) -> Iterator[tuple[str, Any]]:
    """The language and the parsed content of every snippet."""
    for language, code in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "json":
            yield language, json.loads(code)
        elif language == "toml":
            yield language, tomllib.loads(code)
        elif language == "sh":
            yield language, [line for line in code.splitlines() if line.strip()]


def _entries(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for table in ("mcpServers", "mcp_servers", "mcp", "servers", "context_servers"):
        yield from document.get(table, {}).values()


def _commands() -> Iterator[tuple[str, ...]]:
    """Every command line of a server that starts one on stdio."""
    for page in PAGES:
        for language, content in _snippets(page):
            if language == "sh":
                lines = [shlex.split(line, comments=True) for line in content]
                found = [words[words.index("toolgate", words.index("--") if "--" in words else 0) :] for words in lines]
                yield from (tuple(words) for words in found if "--http" not in words)
                continue
            for entry in _entries(content):
                command = entry.get("command")
                if isinstance(command, list):
                    yield tuple(command)
                elif command is not None:
                    yield (command, *entry.get("args", ()))


def _remotes() -> Iterator[tuple[str, str]]:
    """Address and Authorization of every server that runs already, as its client reads them."""
    for page in PAGES:
        for language, content in _snippets(page):
            for entry in _entries(content) if language != "sh" else ():
                address = entry.get("url") or entry.get("httpUrl")
                if address is not None:
                    variable = entry.get("bearer_token_env_var") or entry.get("bearerTokenEnvVar")
                    given = f"Bearer ${variable}" if variable else entry["headers"]["Authorization"]
                    yield address, given


def test_every_client_has_both_ways() -> None:
    clients = [page for page in PAGES if page.parent.name == "clients"]
    names = ["claude-code", "codex", "cursor", "gemini-cli", "kimi-code", "opencode", "vs-code", "zed"]
    assert [page.stem for page in clients] == names
    assert len(list(_remotes())) == len(clients)
    assert len(list(_commands())) > len(clients)


@pytest.mark.parametrize("words", sorted(set(_commands())), ids=" ".join)
async def test_the_server_of_a_snippet_starts_and_lists_its_tools(words: tuple[str, ...], tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (home / "project").mkdir(parents=True)
    project.mkdir()
    replaced = [word.replace("${workspaceFolder}", str(project)).replace("~", str(home)) for word in words]
    program = str(Path(sys.executable).parent / replaced[0])
    server = StdioServerParameters(command=program, args=replaced[1:], cwd=project, env=environment(home))
    async with Client(server, mode="legacy") as connected:
        listed = {tool.name for tool in (await connected.list_tools()).tools}
    assert {"read_file", "grep"} <= listed


async def test_the_addresses_and_tokens_of_the_snippets_lead_to_a_server(tmp_path: Path) -> None:
    [line] = {
        line
        for page in PAGES
        for language, content in _snippets(page)
        if language == "sh"
        for line in content
        if "--http" in line
    }
    words = shlex.split(line, comments=True)
    assert words[0] == "TOOLGATE_GATEWAY_TOKEN=…"
    process = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).parent / words[1]), *words[2:], "--port", "0"),
        cwd=tmp_path,
        env=environment(tmp_path / "home", TOOLGATE_GATEWAY_TOKEN=TOKEN),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        told = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
        port = told.strip().rpartition(":")[2].partition("/")[0]
        for address, authorization in sorted(set(_remotes())):
            assert ":8766/" in address
            shown = re.sub(r"\$?\{?(env:)?TOOLGATE_GATEWAY_TOKEN\}?", TOKEN, authorization)
            async with (
                httpx2.AsyncClient(headers={"authorization": shown}, timeout=30) as http,
                Client(
                    streamable_http_client(address.replace("8766", port), http_client=http), mode="legacy"
                ) as client,
            ):
                assert (await client.list_tools()).tools
    finally:
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0


def test_the_port_of_the_snippets_is_the_default() -> None:
    from toolgate.cli.mcp import PORT

    assert {address for address, _ in _remotes()} == {f"http://127.0.0.1:{PORT}/mcp"}
    assert os.environ.get("TOOLGATE_GATEWAY_TOKEN") is None
