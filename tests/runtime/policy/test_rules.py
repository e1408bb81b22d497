"""Policies through the pipeline: deny wins, projects cannot allow, errors stop the start."""

import os
import re
import shlex
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

import toolgate
from tests.support.privileges import NOBODY, acting_as
from toolgate import (
    CallableToolset,
    Plan,
    PolicyError,
    Tool,
    ToolCall,
    ToolContext,
    ToolMode,
    ToolResponse,
    ToolResult,
    Workspace,
)
from toolgate.protocol.codes import ErrorCode
from toolgate.runtime.policy.rules import Rule
from toolgate.settings import Settings


class Command(BaseModel):
    model_config = ConfigDict(extra="forbid")
    command: str = Field(description="What to run.")


class Shell(Tool[Command]):
    """Plans like a shell and runs nothing: the rules are what is tested."""

    name = "Bash"
    description = "Runs a command."
    Params = Command
    allowed_modes = frozenset({ToolMode.coding})
    requires_permission = True

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def prepare(self, params: Command, context: ToolContext) -> Plan:
        words = tuple(shlex.split(params.command))
        return Plan(summary=params.command, commands=(words,), plain=True)

    async def execute(self, params: Command, context: ToolContext) -> ToolResponse:
        self.ran.append(params.command)
        return ToolResponse.success({}, "Ran.")


class Project:
    """A root with an optional project policy, and a user's policy beside it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self.root.mkdir()
        self.user_file = base / "policy.toml"
        self.shell = Shell()

    def project_policy(self, text: str) -> Path:
        (self.root / ".toolgate").mkdir()
        path = self.root / ".toolgate" / "policy.toml"
        path.write_text(text)
        return path

    def toolset(self) -> CallableToolset:
        settings = Settings.of(policy_file=self.user_file if self.user_file.exists() else None)
        context = ToolContext(workspace=Workspace(self.root), mode=ToolMode.coding, settings=settings)
        return CallableToolset([self.shell], context)

    async def run(self, command: str) -> ToolResult:
        arguments = Command(command=command).model_dump_json()
        return await self.toolset().handle(ToolCall(id="c1", name="Bash", arguments=arguments))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def rule(words: str, decision: str) -> str:
    return f'[[rule]]\ntool = "Bash"\nwords = {words.split()}\ndecision = "{decision}"\n'


def denied(result: ToolResult) -> bool:
    return result.response.error is not None and result.response.error.code is ErrorCode.APPROVAL_DENIED


@pytest.mark.parametrize("text", ["", "rule = []", None])
async def test_c17_without_a_rule_nothing_is_allowed_by_policy(project: Project, text: str | None) -> None:
    if text is not None:
        project.user_file.write_text(text)
    assert denied(await project.run("ls"))
    assert project.shell.ran == []


INVALID = ["rule = [", rule("ls", "perhaps"), rule("ls", "allow") + "wrods = 1", "\0", "[[rule]]\ntool = 'Bash'\n"]


@pytest.mark.parametrize("text", INVALID)
async def test_c17_an_invalid_user_policy_is_an_error(project: Project, text: str) -> None:
    project.user_file.write_text(text)
    with pytest.raises(PolicyError):
        await project.run("ls")
    assert project.shell.ran == []


@pytest.mark.parametrize("text", INVALID)
async def test_c17_an_invalid_project_policy_is_an_error(project: Project, text: str) -> None:
    project.user_file.write_text(rule("ls", "allow"))
    project.project_policy(text)
    with pytest.raises(PolicyError):
        await project.run("ls")
    assert project.shell.ran == []


@pytest.mark.parametrize("kind", ["directory", "fifo", "binary", "link out"])
async def test_c17_an_unreadable_project_policy_is_an_error(project: Project, kind: str) -> None:
    path = project.project_policy("")
    path.unlink()
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "binary":
        path.write_bytes(b"\xff\xfe")
    else:
        project.user_file.write_text("")
        path.symlink_to(project.user_file)
    with pytest.raises(PolicyError):
        await project.run("ls")


async def test_c17_a_user_policy_without_permission_is_an_error(public_path: Path) -> None:
    open_project = Project(public_path)
    open_project.user_file.write_text(rule("ls", "allow"))
    open_project.user_file.chmod(0)
    with acting_as(NOBODY), pytest.raises(PolicyError, match="cannot be read: Permission denied"):
        await open_project.run("ls")


async def test_c17_an_invalid_policy_stops_open(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.user_file.write_text("rule = [")
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", str(project.user_file))
    with pytest.raises(PolicyError, match="is not TOML"):
        async with toolgate.open(project.root, mode="coding"):
            pytest.fail("it opened")


@pytest.mark.parametrize("dangling", [False, True])
async def test_c17_a_named_policy_that_is_not_there_stops_open(
    project: Project, monkeypatch: pytest.MonkeyPatch, dangling: bool
) -> None:
    named = project.root.parent / "mistyped.toml"
    if dangling:
        named.symlink_to("nowhere")
    monkeypatch.setenv("TOOLGATE_POLICY_FILE", str(named))
    with pytest.raises(PolicyError, match="there is no such file"):
        async with toolgate.open(project.root, mode="coding"):
            pytest.fail("it opened")


async def test_c17_control_an_allowed_command_runs(project: Project) -> None:
    project.user_file.write_text(rule("ls", "allow"))
    assert (await project.run("ls -l")).response.status == "success"
    assert project.shell.ran == ["ls -l"]


@pytest.mark.parametrize("command", ["git logout", "lsof", "echoX"])
async def test_c09_words_are_whole(project: Project, command: str) -> None:
    project.user_file.write_text(rule("git log", "allow") + rule("ls", "allow") + rule("echo", "allow"))
    assert denied(await project.run(command))


async def test_c19_deny_wins_over_every_layer(project: Project) -> None:
    project.user_file.write_text(rule("rm", "deny"))
    project.project_policy(rule("rm", "allow"))
    result = await project.run("rm x")
    assert denied(result)
    assert "user rule 1" in result.output
    assert project.shell.ran == []


async def test_c19_a_project_cannot_add_allow(project: Project) -> None:
    project.project_policy(rule("rm", "allow") + '[[rule]]\ntool = "Bash"\ndecision = "allow"\n')
    assert denied(await project.run("rm x"))
    assert project.shell.ran == []


async def test_c19_a_project_can_deny_what_the_user_allows(project: Project) -> None:
    project.user_file.write_text(rule("ls", "allow"))
    project.project_policy(rule("ls", "deny"))
    result = await project.run("ls")
    assert denied(result)
    assert "project rule 1" in result.output


async def test_c19_control_a_project_that_denies_something_else_changes_nothing(project: Project) -> None:
    project.user_file.write_text(rule("ls", "allow"))
    project.project_policy(rule("rm", "deny"))
    assert (await project.run("ls")).response.status == "success"


async def test_explain_names_the_rule(project: Project) -> None:
    project.user_file.write_text(rule("rm", "deny"))
    call = ToolCall(id="c1", name="Bash", arguments='{"command": "/bin/rm x"}')
    decision = await project.toolset().explain(call)
    assert decision.model_dump() == {
        "decision": "deny",
        "gate": "policy",
        "rule": 'user rule 1: deny Bash ["rm"]',
        "reason": "a rule of the user policy",
    }


def test_every_key_of_a_rule_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
    keys = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = set(re.findall(r"`(\w+)`", " ".join(keys)))

    assert set(Rule.model_fields) - documented == set(), "docs/policy.md has no row for these keys"
