"""`toolgate policy explain`: the gate, the rule and the reason, and nothing happens."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Toolgate
from toolgate.sessions import Database, SessionManager
from toolgate.settings import Settings

RULE = """
[[rule]]
tool = "write_file"
args = { path = "docs/**" }
decision = "deny"
reason = "the docs are written by hand"
"""


def _rule(project: Path) -> None:
    (project / ".toolgate").mkdir()
    (project / ".toolgate" / "policy.toml").write_text(RULE)


def test_a_rule_is_named_with_its_reason(toolgate: Toolgate, project: Path) -> None:
    _rule(project)

    code, out, err = toolgate("policy", "explain", "write_file", '{"path": "docs/a.md", "content": ""}', "--json")

    decision = json.loads(out)
    assert (code, err, decision["decision"], decision["gate"]) == (0, "", "deny", "policy")
    assert "the docs are written by hand" in decision["reason"]
    assert decision["rule"]


def test_without_a_rule_the_tool_s_own_default_decides(toolgate: Toolgate, project: Path) -> None:
    code, out, _ = toolgate("policy", "explain", "write_file", '{"path": "a.md", "content": ""}')

    assert (code, out.splitlines()[0]) == (0, "ask")
    assert not (project / "a.md").exists()


def test_a_reading_tool_is_allowed(toolgate: Toolgate) -> None:
    assert toolgate("policy", "explain", "read_file", '{"path": "a.txt"}').out.splitlines()[0] == "allow"


def test_options_stand_before_between_and_after_the_arguments(toolgate: Toolgate, project: Path) -> None:
    for words in (
        ("--root", str(project), "write_file", "path=a.md", "content=x", "--json"),
        ("write_file", "--root", str(project), "path=a.md", "--json", "content=x"),
        ("write_file", "--json", "--root", str(project), "--", "path=a.md", "content=x"),
    ):
        code, out, err = toolgate("policy", "explain", *words)

        assert (code, err) == (0, ""), words
        assert json.loads(out)["decision"] == "ask"


def test_the_mode_gate_answers_first(toolgate: Toolgate) -> None:
    out = toolgate("policy", "explain", "--mode", "chat_safe", "read_file", '{"path": "a.txt"}', "--json").out

    decision = json.loads(out)
    assert (decision["decision"], decision["gate"]) == ("deny", "mode")


def test_an_unknown_tool_is_denied_by_resolve(toolgate: Toolgate) -> None:
    decision = json.loads(toolgate("policy", "explain", "nope", "--json").out)

    assert (decision["decision"], decision["gate"]) == ("deny", "resolve")


def test_arguments_that_do_not_fit_are_denied(toolgate: Toolgate) -> None:
    decision = json.loads(toolgate("policy", "explain", "read_file", '{"pth": 1}', "--json").out)

    assert (decision["decision"], decision["gate"]) == ("deny", "arguments")


@pytest.mark.parametrize(
    ("approval_mode", "decision", "rule"),
    [("ask", "ask", ""), ("accept_edits", "allow", "approval mode: accept_edits"), ("plan", "deny", "")],
)
def test_the_approval_mode_decides(toolgate: Toolgate, approval_mode: str, decision: str, rule: str) -> None:
    words = ("policy", "explain", "write_file", '{"path": "a.md", "content": ""}', "--json")

    found = json.loads(toolgate(*words, "--approval-mode", approval_mode).out)

    assert (found["decision"], found["rule"]) == (decision, rule)


def test_a_session_explains_in_its_approval_mode_unless_another_is_named(toolgate: Toolgate) -> None:
    words = ("policy", "explain", "write_file", '{"path": "a.md", "content": ""}', "--json")
    session = asyncio.run(_session())

    assert json.loads(toolgate(*words, "--session", session).out)["rule"] == "approval mode: accept_edits"
    named = toolgate(*words, "--session", session, "--approval-mode", "ask").out
    assert json.loads(named)["decision"] == "ask"
    code, out, err = toolgate(*words, "--session", "nope")
    assert (code, out) == (2, "")
    assert "there is no session 'nope'" in err


async def _session() -> str:
    """The id of a session that accepts edits."""
    settings = Settings()
    database = Database(settings.database.address)
    await database.migrate()
    try:
        return (await SessionManager(database, settings.session).create(approval_mode="accept_edits")).id
    finally:
        await database.close()
