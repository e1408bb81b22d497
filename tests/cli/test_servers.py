"""`toolgate servers`: what is configured, what is visible and why something is not, and approving it."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Toolgate

NASTY = Path(__file__).parent.parent / "adapters" / "servers" / "nasty.py"


@pytest.fixture
def config(project: Path, tmp_path: Path) -> Path:
    file = tmp_path / "config" / "toolgate" / "mcp.json"
    file.parent.mkdir(parents=True)
    raw = {
        "command": sys.executable,
        "args": [str(NASTY), "good"],
        "env": {"KEY": "hunter22"},
        "toolgate": {"tools": {"act": {"modes": ["coding"]}, "look": {"modes": ["chat_safe"], "read_only": True}}},
    }
    file.write_text(json.dumps({"mcpServers": {"raw": raw, "off": {"command": "x", "disabled": True}}}))
    return file


def test_no_servers(toolgate: Toolgate) -> None:
    code, out, _ = toolgate("servers")

    assert code == 0
    assert out.startswith("no servers are configured in ")
    assert out.endswith("\nSee docs/mcp-client.md for what to write there.\n")


def test_every_tool_is_shown_with_its_name_or_the_reason(toolgate: Toolgate, config: Path) -> None:
    code, out, _ = toolgate("servers")

    rows = [line.split(maxsplit=4) for line in out.splitlines()]
    assert code == 0
    assert rows[0] == ["raw", "up"]
    assert ["act", "raw__act", "coding", "yes", "new"] in rows
    assert ["look", "raw__look", "chat_safe", "-", "new"] in rows
    assert ["long", "-", "-", "-", "not visible: the config gives it no modes"] in rows
    assert "off  not used: it is disabled in the config" in out
    assert "hunter22" not in out


def test_json_says_the_same(toolgate: Toolgate, config: Path) -> None:
    raw, off = json.loads(toolgate("servers", "--json").out)

    assert (raw["server"], raw["trouble"]) == ("raw", "")
    assert raw["tools"][0] | {"digest": ""} == {
        "tool": "act",
        "name": "raw__act",
        "modes": ["coding"],
        "read_only": False,
        "state": "new",
        "digest": "",
        "reason": "",
    }
    assert off == {"server": "off", "trouble": "it is disabled in the config", "tools": []}


def test_approving_is_remembered(toolgate: Toolgate, config: Path) -> None:
    code, out, _ = toolgate("servers", "approve", "raw", "look", "--yes")
    states = {tool["tool"]: tool["state"] for tool in json.loads(toolgate("servers", "--json").out)[0]["tools"]}

    assert code == 0
    assert "Looks." in out
    assert (states["act"], states["look"]) == ("new", "approved")


def test_nobody_at_the_keyboard_approves_nothing(toolgate: Toolgate, config: Path) -> None:
    out = toolgate("servers", "approve", "raw").out

    assert "not approved" in out
    assert not (config.parent / "mcp-approvals.json").exists()


def test_the_list_and_the_approval_speak_the_persons_language(
    toolgate: Toolgate, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLGATE_LANGUAGE", "zh-CN")

    assert "raw  正常" in toolgate("servers").out
    assert "未批准" in toolgate("servers", "approve", "raw").out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nope",), "no usable server 'nope'"),
        (("off",), "no usable server 'off'"),
        (("raw", "zzz"), "has no tool 'zzz'"),
    ],
)
def test_what_is_not_there_is_said(toolgate: Toolgate, config: Path, words: tuple[str, ...], complaint: str) -> None:
    code, _, err = toolgate("servers", "approve", *words)

    assert code == 2
    assert complaint in err


def test_a_file_that_was_named_must_be_there(toolgate: Toolgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_MCP_CONFIG", "/nonexistent/mcp.json")

    code, _, err = toolgate("servers")

    assert code == 2
    assert "there is no such file" in err
