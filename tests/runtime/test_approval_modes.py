"""Approval modes: what the person wants to be asked about, and what none of them lifts."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.kit import ProbeTool, call, code_of
from toolgate import (
    Approval,
    ApprovalMode,
    CallableToolset,
    Plan,
    ToolContext,
    ToolMode,
    Workspace,
)
from toolgate.agent import PromptBuilder
from toolgate.runtime.approval_modes import RUN_BY_OTHERS, RUN_ENDINGS, RUN_FROM
from toolgate.runtime.builtin import agent_registry
from toolgate.testing import AutoApprover, MemoryRecorder
from toolgate.workspace import journal_entries
from toolgate.workspace.skills import Skills

ACCEPT, PLAN, ASK = ApprovalMode.accept_edits, ApprovalMode.plan, ApprovalMode.ask
WRITE = {"path": "src/a.txt", "content": "hello\n"}


def context_of(root: Path, approval_mode: ApprovalMode, **options: Any) -> ToolContext:
    return ToolContext(workspace=Workspace(root), mode=ToolMode.coding, approval_mode=approval_mode, **options)


def tools_of(context: ToolContext) -> CallableToolset:
    return agent_registry().toolset(ToolMode.coding, context)


@pytest.mark.parametrize(("mode", "approval_mode"), list(itertools.product(ToolMode, ApprovalMode)))
async def test_m01_schema_list_prompt_check_toolset_and_execution_agree(
    tmp_path: Path, mode: ToolMode, approval_mode: ApprovalMode
) -> None:
    registry = agent_registry()
    ports: Any = {"memory": object(), "agents": object()}  # never used: the arguments are wrong
    context = ToolContext(workspace=Workspace(tmp_path), mode=mode, approval_mode=approval_mode, **ports)
    context.loaded_tools = set()
    context.skills = Skills()
    toolset = registry.toolset(mode, context)
    listed = {tool.name for tool in registry.list_tools(mode, approval_mode)}
    schema = {item["function"]["name"] for item in registry.get_tools_schema(mode, approval_mode)}
    prompt = PromptBuilder(registry)._layer_tooling(mode, approval_mode)
    told = {line[2:].partition(":")[0] for line in prompt.splitlines() if line.startswith("- ")}
    checked = {name for name in registry.names() if registry.check_mode(name, mode, approval_mode)}
    effective = {name for name in registry.names() if mode in registry.get_effective_modes(name, approval_mode)}
    run = {name for name in registry.names() if code_of(await toolset.handle(call(name, {"?": 1}))) != "MODE_DENIED"}
    assert listed == schema == told == checked == effective == {tool.name for tool in toolset.tools} == run
    assert ("propose_plan" in listed) == (approval_mode is PLAN and mode is ToolMode.coding)
    if approval_mode is PLAN:
        assert not listed & {"write_file", "edit_file", "todo", "memory_append"}
    await context.aclose()


async def test_accepted_edits_run_without_a_question_and_the_record_says_why(tmp_path: Path) -> None:
    approver, recorder = AutoApprover(allow=False), MemoryRecorder()
    tools = tools_of(context_of(tmp_path, ACCEPT, approver=approver, recorder=recorder))
    assert code_of(await tools.handle(call("write_file", WRITE))) is None
    edit = {"path": "src/a.txt", "old_string": "hello", "new_string": "bye"}
    assert code_of(await tools.handle(call("edit_file", edit))) is None
    assert ((tmp_path / "src/a.txt").read_text(), approver.requests) == ("bye\n", [])
    decisions = [record.payload for record in recorder.records if record.kind == "decision"]
    assert {(found["gate"], found["decision"], found["rule"]) for found in decisions} == {
        ("permission", "allow", "approval mode: accept_edits")
    }


async def test_an_edit_typed_into_bash_is_accepted_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    context = context_of(tmp_path, ACCEPT)
    assert code_of(await tools_of(context).handle(call("Bash", {"command": "edit a.txt old new"}))) is None
    assert (tmp_path / "a.txt").read_text() == "new\n"
    await context.aclose()


async def test_an_unread_file_that_undo_can_bring_back_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    tools = tools_of(context_of(tmp_path, ACCEPT))
    assert code_of(await tools.handle(call("write_file", {"path": "a.txt", "content": "new\n"}))) is None


async def test_what_the_journal_cannot_keep_still_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_entries, "MAX_REVERSIBLE", 3)
    (tmp_path / "a.txt").write_text("mine\n")
    tools = tools_of(context_of(tmp_path, ACCEPT))
    edit = {"path": "a.txt", "old_string": "mine", "new_string": "new"}
    assert code_of(await tools.handle(call("edit_file", edit))) == "APPROVAL_DENIED"
    assert code_of(await tools.handle(call("write_file", {"path": "a.txt", "content": "x"}))) == "APPROVAL_DENIED"
    assert (tmp_path / "a.txt").read_text() == "mine\n"


async def test_files_that_other_programs_run_still_ask(tmp_path: Path) -> None:
    names = [*sorted(RUN_BY_OTHERS - {".git", ".toolgate"}), *RUN_FROM]
    paths = [path for name in names for path in (name, f"sub/{name.upper()}", f"sub/{name.upper()}/x")]
    paths += [f"sub/a{ending}" for ending in (*RUN_ENDINGS, *map(str.upper, RUN_ENDINGS))]
    tools = tools_of(context_of(tmp_path, ACCEPT))

    written = [call("write_file", {"path": path, "content": "x"}) for path in paths]
    assert {code_of(await tools.handle(one)) for one in written} == {"APPROVAL_DENIED"}
    assert list(tmp_path.iterdir()) == []


async def test_a_link_to_what_other_programs_run_asks_as_well(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    (tmp_path / "docs").symlink_to(".vscode")
    (tmp_path / "notes.md").symlink_to(".bashrc")
    tools = tools_of(context_of(tmp_path, ACCEPT))
    for path in ("docs/tasks.json", "notes.md"):
        result = await tools.handle(call("write_file", {"path": path, "content": "x"}))
        assert code_of(result) == "APPROVAL_DENIED", path


@pytest.mark.parametrize(
    "path", ["Makefile", "conftest.py", "setup.py", "package.json", "config/fish", "profile", "bin/x", "a.path"]
)
async def test_ordinary_code_is_accepted(tmp_path: Path, path: str) -> None:
    tools = tools_of(context_of(tmp_path, ACCEPT))
    assert code_of(await tools.handle(call("write_file", {"path": path, "content": "x"}))) is None


async def test_the_last_file_of_a_repository_asks_and_so_does_what_git_runs(tmp_path: Path) -> None:
    tools = tools_of(context_of(tmp_path, ACCEPT))
    written = {}
    for path in ("data/config", "data/objects/x", "data/HEAD", "data/refs/x"):
        written[path] = code_of(await tools.handle(call("write_file", {"path": path, "content": "x\n"})))
    assert written == dict.fromkeys(written) | {"data/HEAD": "APPROVAL_DENIED"}


@pytest.mark.parametrize("path", [".git/config", "sub/.git/x", ".toolgate/policy.toml", "tool-output/x"])
async def test_protected_paths_are_not_accepted(tmp_path: Path, path: str) -> None:
    tools = tools_of(context_of(tmp_path, ACCEPT))
    assert code_of(await tools.handle(call("write_file", {"path": path, "content": "x"}))) in (
        "APPROVAL_DENIED",
        "ACCESS_DENIED",
    )


@pytest.mark.parametrize("decision", ["ask", "deny"])
async def test_a_rule_that_asks_or_denies_wins_over_accepted_edits(tmp_path: Path, decision: str) -> None:
    (tmp_path / ".toolgate").mkdir()
    rule = f'[[rule]]\ntool = "write_file"\nargs = {{ path = "src/**" }}\ndecision = "{decision}"\n'
    (tmp_path / ".toolgate/policy.toml").write_text(rule)
    tools = tools_of(context_of(tmp_path, ACCEPT))
    assert code_of(await tools.handle(call("write_file", WRITE))) == "APPROVAL_DENIED"
    assert code_of(await tools.handle(call("write_file", {"path": "b.txt", "content": "x"}))) is None


async def test_commands_that_ask_still_do_where_edits_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    context = context_of(tmp_path, ACCEPT)
    assert code_of(await tools_of(context).handle(call("Bash", {"command": "rm a.txt"}))) == "APPROVAL_DENIED"
    assert code_of(await tools_of(context).handle(call("Bash", {"command": "ls", "access": "full"}))) == (
        "APPROVAL_DENIED"
    )
    assert (tmp_path / "a.txt").exists()
    await context.aclose()


class Planned(ProbeTool):
    async def prepare(self, params: Any, context: ToolContext) -> Plan:
        plan: Plan = vars(self)["plan"]
        return plan


@pytest.mark.parametrize(
    ("plan", "accepted"),
    [
        (Plan(summary="x", resources=("a",), reversible=True), True),
        (Plan(summary="x", resources=("a",)), False),
        (Plan(summary="x", reversible=True), False),
        (Plan(summary="x", resources=("/a",), reversible=True), False),
        (Plan(summary="x", resources=("a",), reversible=True, access="full"), False),
        (Plan(summary="x", resources=("a",), reversible=True, unconfined=True), False),
        (Plan(summary="x", resources=("a",), reversible=True, once="it depends"), False),
    ],
)
async def test_a_tool_of_ones_own_is_judged_by_its_plan(tmp_path: Path, plan: Plan, accepted: bool) -> None:
    tool = Planned(requires_permission=True, plan=plan)
    result = await CallableToolset([tool], context_of(tmp_path, ACCEPT)).handle(call("probe"))
    assert (code_of(result) is None) == accepted


async def test_plan_mode_denies_what_changes_something_and_says_how_to_go_on(tmp_path: Path) -> None:
    approver, recorder = AutoApprover(), MemoryRecorder()
    tools = tools_of(context_of(tmp_path, PLAN, approver=approver, recorder=recorder))
    result = await tools.handle(call("write_file", WRITE))
    assert code_of(result) == "MODE_DENIED"
    assert "plan mode" in result.output
    assert "propose_plan" in result.output
    assert (list(tmp_path.glob("src")), approver.requests) == ([], [])
    assert [record.payload["gate"] for record in recorder.records if record.kind == "decision"] == ["mode"]


async def test_plan_mode_denies_agent_commands_that_write(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    context = context_of(tmp_path, PLAN, approver=AutoApprover())
    for access in ("read", "write"):
        arguments = {"command": "edit a.txt old new", "access": access}
        assert code_of(await tools_of(context).handle(call("Bash", arguments))) == "MODE_DENIED"
    assert (tmp_path / "a.txt").read_text() == "old\n"
    await context.aclose()


async def test_plan_mode_runs_commands_only_with_access_that_the_kernel_keeps_from_writing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    approver = AutoApprover()
    context = context_of(tmp_path, PLAN, approver=approver)
    tools = tools_of(context)
    read = await tools.handle(call("Bash", {"command": "cat a.txt", "access": "read"}))
    confined = not read.is_error
    for arguments in (
        {"command": "cat a.txt"},
        {"command": "cat a.txt", "access": "full"},
        {"command": "rm a.txt", "access": "read"},
    ):
        result = await tools.handle(call("Bash", arguments))
        assert (code_of(result), "plan mode" in result.output) == ("APPROVAL_DENIED", True), arguments
    assert approver.requests == []
    if confined:
        await tools.handle(call("Bash", {"command": "cp a.txt b.txt", "access": "read"}))
        assert not (tmp_path / "b.txt").exists()
    await context.aclose()


async def test_a_command_that_nothing_confines_does_not_run_in_plan_mode(tmp_path: Path) -> None:
    plan = Plan(summary="x", access="read", unconfined=True)
    tool = Planned(plan=plan, approval_modes=frozenset(ApprovalMode))
    result = await CallableToolset([tool], context_of(tmp_path, PLAN, approver=AutoApprover())).handle(call("probe"))
    assert (code_of(result), tool.calls) == ("APPROVAL_DENIED", [])


async def test_a_switch_counts_for_the_next_call(tmp_path: Path) -> None:
    context = context_of(tmp_path, ASK)
    tools = tools_of(context)
    assert code_of(await tools.handle(call("write_file", WRITE))) == "APPROVAL_DENIED"
    context.approval_mode = ACCEPT
    assert code_of(await tools.handle(call("write_file", WRITE))) is None
    context.approval_mode = PLAN
    assert code_of(await tools.handle(call("write_file", WRITE))) == "MODE_DENIED"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [("write_file", WRITE, "MODE_DENIED"), ("Bash", {"command": "mkdir src; rm -r src/x"}, "APPROVAL_DENIED")],
)
async def test_a_switch_to_plan_mode_while_the_question_is_open_counts(
    tmp_path: Path, name: str, arguments: dict[str, Any], code: str
) -> None:
    context = context_of(tmp_path, ASK)

    class Switches:
        async def decide(self, request: Any) -> Approval:
            context.approval_mode = PLAN
            return Approval(allowed=True)

    context.approver = Switches()
    assert code_of(await tools_of(context).handle(call(name, arguments))) == code
    assert not (tmp_path / "src").exists()
    await context.aclose()


async def test_explain_says_what_the_approval_mode_decides(tmp_path: Path) -> None:
    accepted = await tools_of(context_of(tmp_path, ACCEPT)).explain(call("write_file", WRITE))
    assert (accepted.decision, accepted.rule) == ("allow", "approval mode: accept_edits")
    denied = await tools_of(context_of(tmp_path, PLAN)).explain(call("write_file", WRITE))
    assert (denied.decision, denied.gate) == ("deny", "mode")


def test_a_text_is_no_approval_mode(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="approval_mode must be an ApprovalMode"):
        ToolContext(approval_mode="plan")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="approval_mode must be an ApprovalMode"):
        agent_registry().list_tools(ToolMode.coding, "plan")  # type: ignore[arg-type]
