"""The rule that would allow a call is told where nobody can be asked, and it does allow it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import toolgate
from toolgate.protocol.jsontext import encode
from toolgate.protocol.plan import Plan
from toolgate.runtime.policy.decide import Policy
from toolgate.runtime.policy.suggest import allowing_rules
from toolgate.settings import Settings


async def _denied(root: Path, name: str, arguments: dict[str, Any], policy: Path | None = None) -> toolgate.ToolResult:
    settings = Settings.defaults().model_copy(update={"policy_file": policy})
    async with toolgate.open(root, mode="coding", settings=settings) as toolset:
        return await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=encode(arguments)))


def _rules(output: str) -> str:
    return output[output.index("[[rule]]") :]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "new.txt", "content": "x"}),
        ("write_file", {"path": 'q"uote.txt', "content": "x"}),
        ("edit_file", {"path": "a.txt", "old_string": "old", "new_string": "new"}),
        ("Bash", {"command": "rm a.txt"}),
        ("Bash", {"command": "rm 'with space' && rm a.txt"}),
        ("Bash", {"command": "edit a.txt old new"}),
    ],
)
async def test_the_rule_that_is_told_allows_the_call(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("old\n")
    (root / "with space").write_text("")
    first = await _denied(root, name, arguments)
    assert first.response.error is not None
    assert first.response.error.code is toolgate.ErrorCode.APPROVAL_DENIED
    policy = tmp_path / "policy.toml"
    policy.write_text(_rules(first.response.text))
    assert tomllib.loads(policy.read_text())["rule"]
    second = await _denied(root, name, arguments, policy)
    assert not second.is_error, second.output


async def test_no_rule_is_told_where_none_can_allow_it(tmp_path: Path) -> None:
    result = await _denied(tmp_path, "Bash", {"command": "true", "access": "full"})
    assert "No policy rule can allow it" in result.output
    assert "[[rule]]" not in result.output


@pytest.mark.parametrize(
    "command", ['rm -rf "$D"', "rm $(cat list)", "rm `cat list`", "cat list | xargs rm", 'rm a.txt "$D"', "rm *.txt"]
)
async def test_no_rule_is_told_about_words_that_are_only_known_when_the_command_runs(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    (tmp_path / "list").write_text("a.txt\n")
    result = await _denied(tmp_path, "Bash", {"command": command})
    assert result.response.error is not None
    assert result.response.error.code is toolgate.ErrorCode.APPROVAL_DENIED
    assert "No policy rule can allow it" in result.output
    assert "[[rule]]" not in result.output


async def test_no_rule_is_told_where_the_project_wants_to_be_asked(tmp_path: Path) -> None:
    (tmp_path / ".toolgate").mkdir()
    (tmp_path / ".toolgate/policy.toml").write_text('[[rule]]\ntool = "write_file"\ndecision = "ask"\n')
    result = await _denied(tmp_path, "write_file", {"path": "a.txt", "content": "x"})
    assert "No policy rule can allow it" in result.output


async def test_an_approver_that_says_no_is_told_nothing_of_rules(tmp_path: Path) -> None:
    from toolgate.testing import AutoApprover

    async with toolgate.open(tmp_path, mode="coding", approver=AutoApprover(allow=False)) as toolset:
        call = toolgate.ToolCall(id="1", name="write_file", arguments='{"path": "a", "content": "x"}')
        result = await toolset.handle(call)
    assert "[[rule]]" not in result.output


def test_the_rule_about_a_page_names_its_address() -> None:
    plan = Plan(summary="Fetch a page", access="read", resources=("https://example.org/",))
    told = allowing_rules(Policy({}), "web_fetch", {"url": "HTTPS://example.org"}, plan)
    assert told is not None
    expected = {"tool": "web_fetch", "args": {"url": "https://example.org/"}, "decision": "allow"}
    assert tomllib.loads(told)["rule"] == [expected]
