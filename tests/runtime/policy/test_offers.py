"""What a person may have remembered: only rules that are narrow, effective and shown."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from toolgate import Plan, PolicyError, ToolContext, ToolMode, Workspace
from toolgate.protocol.approval import ApprovalChoice
from toolgate.runtime.policy import Policy, Rule, parse_policy
from toolgate.runtime.policy.builtin import WRITERS
from toolgate.runtime.policy.load import PolicyDocument
from toolgate.runtime.policy.offers import choices_of, is_unlimited, rules_of
from toolgate.tools.builtin.bash import BashParams
from toolgate.tools.builtin.bash_plan import plan_of

EDIT = {"path": "src/app.py", "old_string": "a", "new_string": "b"}
PLAN = Plan(summary="Edit", resources=("src/app.py",), reversible=True)


def policy_of(user: str = "", project: str | None = "/home/me/shop", project_text: str = "") -> Policy:
    layers: dict[Any, PolicyDocument] = {
        "user": parse_policy(user, "user"),
        "project": parse_policy(project_text, "project"),
    }
    return Policy({"built-in": Policy.load().layers["built-in"], **layers}, project)


def offered(policy: Policy, tool: str, arguments: dict[str, Any], plan: Plan | None, **options: Any) -> list[str]:
    return [choice.id for choice in choices_of(policy, tool, arguments, plan, **options)]


def test_an_edit_can_be_remembered_for_the_file_and_the_folder() -> None:
    found = choices_of(policy_of(), "edit_file", EDIT, PLAN, for_project=True)
    assert [(choice.id, choice.label, choice.scopes) for choice in found] == [
        ("call", "this exact call", ("session",)),
        ("file", "edits to src/app.py", ("session", "project")),
        ("folder", "edits in src", ("session", "project")),
    ]
    assert tomllib.loads(found[2].rule)["rule"] == [
        {"tool": tool, "args": {"path": "src/**"}, "decision": "allow", "project": "/home/me/shop"} for tool in WRITERS
    ]


def test_without_a_policy_file_of_ones_own_only_the_session_remembers() -> None:
    found = choices_of(policy_of(), "edit_file", EDIT, PLAN)
    assert {choice.scopes for choice in found} == {("session",)}
    assert all("project" not in choice.rule for choice in found if choice.id != "call")


def test_a_file_in_the_root_has_no_folder_to_allow() -> None:
    plan = PLAN.model_copy(update={"resources": ("app.py",)})
    assert offered(policy_of(), "edit_file", {"path": "app.py"}, plan) == ["call", "file"]


@pytest.mark.parametrize("path", ["a*.py", "s?c/app.py"])
def test_a_path_that_reads_as_a_pattern_is_not_offered(path: str) -> None:
    plan = PLAN.model_copy(update={"resources": (path,)})
    assert offered(policy_of(), "edit_file", {"path": path}, plan) == ["call"]


@pytest.mark.parametrize(
    "plan",
    [
        PLAN.model_copy(update={"asks": True, "reason": "it is dangerous"}),
        PLAN.model_copy(update={"unconfined": True}),
        PLAN.model_copy(update={"reversible": False}),
    ],
)
def test_dangers_and_missing_confinement_leave_only_the_exact_call(plan: Plan) -> None:
    assert offered(policy_of(), "edit_file", EDIT, plan) == ["call"]


def test_full_access_and_what_is_known_only_when_it_runs_are_never_remembered() -> None:
    assert offered(policy_of(), "Bash", {}, Plan(summary="x", access="full", prefixes=(("ls",),))) == []
    assert offered(policy_of(), "Bash", {}, Plan(summary="x", once="a variable", prefixes=(("ls",),))) == []


def test_a_rule_that_asks_is_not_lifted_by_what_is_offered() -> None:
    asks = '[[rule]]\ntool = "edit_file"\nargs = { path = "src/**" }\ndecision = "ask"\n'
    assert offered(policy_of(asks), "edit_file", EDIT, PLAN) == ["call"]
    assert offered(policy_of(project_text=asks), "edit_file", EDIT, PLAN) == ["call"]
    inside_git = PLAN.model_copy(update={"resources": ("sub/.git/x",)})
    assert offered(policy_of(), "edit_file", {"path": "sub/.git/x"}, inside_git) == ["call"]


async def prefixes(root: Path, command: str, access: str = "write") -> tuple[tuple[str, ...], ...]:
    context = ToolContext(workspace=Workspace(root), mode=ToolMode.coding)
    try:
        return (await plan_of(BashParams(command=command, access=access), context)).prefixes  # type: ignore[arg-type]
    finally:
        await context.aclose()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", (("pytest",),)),
        ("pytest tests", (("pytest",), ("pytest", "tests"))),
        ("git log --oneline", (("git", "log"),)),
        ("mypy src", (("mypy",), ("mypy", "src"))),
        ("true && ruff check", (("ruff",), ("ruff", "check"))),
    ],
)
async def test_known_programs_can_be_remembered_by_their_first_words(
    tmp_path: Path, command: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    (tmp_path / "src").mkdir()
    assert await prefixes(tmp_path, command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'ls'", "sh x.sh", "python -c 'print(1)'", "python3 x.py", "node -e 1", "perl -e 1", "ruby -e 1",
        "env ls", "sudo ls", "xargs ls", "nice ls", "timeout 5 ls",
        "watch ls", "find . -exec ls {} +", "awk '{print}' x",
        "git -c core.pager=x log", "git push", "git checkout main", "git config a b", "git bisect run x", "rm x",
        "rm -r build", "chmod 600 x", "kill 1", "make test", "./run", "unknown-program x", "ls $HOME", "ls *.py",
        "ls > out", "A=1 ls", "ls; pytest",
        "ipython -c 1", "tsx x.ts", "cargo run", "cargo publish", "cd src && ls", "go run x.go", "eval ls",
        "docker run x", "ssh host ls", "npm run x", "sed -i s/a/b/ x", "tee x", "curl http://x", "java X",
    ],
)  # fmt: skip
async def test_programs_that_run_others_and_dangers_are_remembered_exactly_or_not_at_all(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\nls\n")
    (tmp_path / "x").write_text("x\n")
    assert await prefixes(tmp_path, command) == ()


def test_commands_are_offered_by_their_words() -> None:
    plan = Plan(
        summary="Run",
        commands=(("pytest", "-q"),),
        plain=True,
        prefixes=(("pytest",), ("git", "log")),
        resources=(".",),
    )
    found = choices_of(policy_of('[unmatched]\nBash = "ask"\n'), "Bash", {"command": "pytest -q"}, plan)
    assert [(choice.id, choice.label) for choice in found] == [
        ("call", "this exact call"),
        ("command", "'pytest' with any arguments"),
    ]


def test_a_remembered_rule_of_a_session_is_no_answer_to_a_danger() -> None:
    policy = policy_of('[unmatched]\nBash = "ask"\n')
    policy.replace_session_rules([Rule(tool="Bash", words=("git", "log"), decision="allow")])
    calm = Plan(summary="x", commands=(("git", "log"),), plain=True)
    verdicts = [
        policy.decide("Bash", {}, plan) for plan in (calm, calm.model_copy(update={"asks": True, "reason": "danger"}))
    ]
    assert [verdict.decision for verdict in verdicts if verdict is not None] == ["allow", "ask"]


def test_what_is_taken_back_asks_again() -> None:
    policy = policy_of()
    policy.replace_session_rules([Rule(tool="edit_file", args={"path": "src/**"}, decision="allow")])
    allowed = policy.decide("edit_file", EDIT, PLAN)
    assert allowed is not None
    assert (allowed.decision, allowed.rule) == ("allow", 'session rule 1: allow edit_file {"path": "src/**"}')
    policy.replace_session_rules([])
    assert policy.decide("edit_file", EDIT, PLAN) is None


def test_a_session_remembers_only_what_allows() -> None:
    policy = policy_of()
    policy.replace_session_rules([Rule(tool="edit_file", decision="deny")])
    assert policy.decide("edit_file", EDIT, PLAN) is None


@pytest.mark.parametrize(
    "rule",
    [
        '[[rule]]\ntool = "Bash"\ndecision = "allow"\n',
        '[[rule]]\ntool = "edit_file"\nargs = { path = "**" }\ndecision = "allow"\n',
        '[[rule]]\ntool = "edit_file"\nargs = { path = "**/*" }\ndecision = "allow"\n',
        "",
        "nonsense",
    ],
)
def test_a_rule_that_would_allow_everything_is_refused(rule: str) -> None:
    with pytest.raises(PolicyError):
        rules_of(ApprovalChoice(id="folder", label="everything", rule=rule))


def test_rules_about_a_part_are_limited() -> None:
    assert not is_unlimited(Rule(tool="edit_file", args={"path": "src/**"}, decision="allow"))
    assert not is_unlimited(Rule(tool="Bash", words=("git", "log"), decision="allow"))


def test_a_rule_for_another_project_has_no_effect() -> None:
    text = '[[rule]]\ntool = "edit_file"\nargs = { path = "src/**" }\ndecision = "allow"\nproject = "/home/me/shop"\n'
    here = policy_of(text).decide("edit_file", EDIT, PLAN)
    assert here is not None
    assert here.rule == 'user rule 1: allow edit_file {"path": "src/**"}'
    assert policy_of(text, "/home/me/other").decide("edit_file", EDIT, PLAN) is None
    assert policy_of(text, None).decide("edit_file", EDIT, PLAN) is None


@pytest.mark.parametrize("project", ["shop", "/home/me/", "/home/../x"])
def test_a_project_is_the_absolute_path_of_a_root(project: str) -> None:
    with pytest.raises(PolicyError, match="absolute path of a project root"):
        parse_policy(f'[[rule]]\ntool = "x"\ndecision = "ask"\nproject = "{project}"\n', "user")
