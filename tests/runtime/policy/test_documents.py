"""A program's own rules: `policy=` of `open`, `ToolContext` and `AgentLoop`."""

from pathlib import Path
from typing import Any

import pytest

import toolgate
from toolgate import Policy, PolicyError, Rule, ToolCall, ToolContext, builtin_registry
from toolgate.agent import AgentLoop, ToolResultInfo
from toolgate.runtime.policy.documents import merge
from toolgate.runtime.policy.load import PolicyDocument
from toolgate.sessions import InMemorySessions
from toolgate.settings import SessionSettings, Settings
from toolgate.testing import AutoApprover, ScriptedModel

NO_PUSH = Rule(tool="Bash", words=("git", "push"), decision="deny", reason="releases do that")
WRITES = Rule(tool="write_file", args={"path": "docs/**"}, decision="allow")
FILE = """
[[rule]]
tool = "write_file"
args = { path = "docs/secret.md" }
decision = "deny"
reason = "the file says so"
"""


async def test_a_rule_of_the_program_denies(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, "coding", AutoApprover(), policy=Policy.of(NO_PUSH)) as toolset:
        result = await toolset.call("Bash", command="git push")
        decision = await toolset.explain(ToolCall(id="1", name="Bash", arguments='{"command": "git push"}'))
    assert result.error_code == "APPROVAL_DENIED"
    assert "releases do that" in result.output
    assert decision.rule == 'settings rule 1: deny Bash ["git", "push"]'


async def test_a_rule_of_the_program_allows_without_asking(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, "coding", policy=Policy.of(WRITES)) as toolset:
        assert (await toolset.call("write_file", path="docs/a.md", content="a\n")).error_code is None
        assert (await toolset.call("write_file", path="src/a.py", content="a\n")).error_code == "APPROVAL_DENIED"


@pytest.mark.parametrize("where", ["user", "project"])
async def test_the_files_still_count(tmp_path: Path, where: str) -> None:
    root, file = tmp_path / "root", tmp_path / "policy.toml"
    (root / ".toolgate").mkdir(parents=True)
    path = file if where == "user" else root / ".toolgate" / "policy.toml"
    path.write_text(FILE)
    settings = Settings.of(policy_file=file) if where == "user" else Settings.of()
    async with toolgate.open(root, "coding", settings=settings, policy=Policy.of(WRITES)) as toolset:
        denied = await toolset.call("write_file", path="docs/secret.md", content="a\n")
        assert "the file says so" in denied.output
        assert (await toolset.call("write_file", path="docs/a.md", content="a\n")).error_code is None


async def test_the_defaults_of_a_program_count(tmp_path: Path) -> None:
    policy = Policy.of(unmatched={"Bash": "deny"})
    async with toolgate.open(tmp_path, "coding", AutoApprover(), policy=policy) as toolset:
        assert (await toolset.call("Bash", command="touch x")).error_code == "APPROVAL_DENIED"


async def test_a_policy_of_toml_is_the_same(tmp_path: Path) -> None:
    policy = Policy.parse('[[rule]]\ntool = "Bash"\nwords = ["git", "push"]\ndecision = "deny"\nreason = "r"\n')
    async with toolgate.open(tmp_path, "coding", AutoApprover(), policy=policy) as toolset:
        assert "r (rule: settings rule 1" in (await toolset.call("Bash", command="git push")).output


async def test_what_one_session_remembers_another_does_not(tmp_path: Path) -> None:
    policy = Policy.of(NO_PUSH)
    approver = AutoApprover(remember=True)
    async with toolgate.open(tmp_path, "coding", approver, policy=policy) as toolset:
        await toolset.call("write_file", path="a.txt", content="a\n")
    async with toolgate.open(tmp_path, "coding", policy=policy) as toolset:
        assert (await toolset.call("write_file", path="a.txt", content="b\n")).error_code == "APPROVAL_DENIED"


async def test_the_agent_loop_takes_a_policy(tmp_path: Path) -> None:
    call = ToolCall(id="c", name="Bash", arguments='{"command": "git push"}')
    with toolgate.Workspace(tmp_path) as workspace:
        async with InMemorySessions(SessionSettings(coding_enabled=True)) as sessions:
            session = await sessions.create("coding")
            model = ScriptedModel([[call], "done"])
            async with AgentLoop(
                model,
                builtin_registry(),
                sessions,
                workspace=workspace,
                approver=AutoApprover(),
                policy=Policy.of(NO_PUSH),
            ) as loop:
                events = [event async for event in loop.handle_message(session.id, "push it")]
    (result,) = [event.result for event in events if isinstance(event, ToolResultInfo)]
    assert "releases do that" in result.output


@pytest.mark.parametrize("wrong", [{"rule": []}, "policy.toml", [NO_PUSH], NO_PUSH, Path("policy.toml")])
def test_a_policy_that_is_none_is_refused_at_the_start(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"write Policy\.of"):
        ToolContext(policy=wrong)
    with pytest.raises(TypeError, match=r"write Policy\.of"):
        AgentLoop(ScriptedModel([]), builtin_registry(), InMemorySessions(), policy=wrong)


@pytest.mark.parametrize("wrong", [{"tool": "Bash", "decision": "deny"}, "Bash", None])
def test_a_rule_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(PolicyError, match=r"rule 1 is a .* not a toolgate\.Rule"):
        Policy.of(wrong)


def test_a_default_that_allows_is_refused() -> None:
    with pytest.raises(PolicyError, match='write "ask" or "deny"'):
        Policy.of(unmatched={"Bash": "allow"})


def test_of_two_defaults_the_stricter_one_counts() -> None:
    ask, deny = PolicyDocument(unmatched={"Bash": "ask"}), PolicyDocument(unmatched={"Bash": "deny"})
    assert merge(ask, deny).unmatched == merge(deny, ask).unmatched == {"Bash": "deny"}
