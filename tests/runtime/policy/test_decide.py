"""What the layers say about a call."""

import logging
from pathlib import Path
from typing import Any

import pytest

from toolgate.protocol.plan import Plan
from toolgate.runtime.policy import Policy, Rule, Verdict
from toolgate.workspace import Workspace


def bash(*commands: str, **fields: Any) -> Plan:
    words = tuple(tuple(command.split()) for command in commands)
    return Plan(commands=words, **{"summary": "Run", "plain": True, **fields})


def words(text: str, decision: Any = "allow", **fields: Any) -> Rule:
    return Rule(tool="Bash", words=tuple(text.split()), decision=decision, **fields)


def path(pattern: str, decision: Any, tool: str = "write_file") -> Rule:
    return Rule(tool=tool, args={"path": pattern}, decision=decision)


def decided(policy: Policy, plan: Plan | None, tool: str = "Bash", **arguments: Any) -> str | None:
    verdict = policy.decide(tool, arguments, plan)
    return verdict.decision if verdict else None


def with_rules(*rules: Rule) -> Policy:
    return Policy.load(extra=rules)


def test_without_a_rule_the_tool_decides() -> None:
    assert Policy.load().decide("ls", {"path": "."}, None) is None


def test_the_verdict_says_which_rule_and_why() -> None:
    policy = with_rules(words("ls"), words("git push", "deny", reason="publishes"))
    assert policy.decide("Bash", {}, bash("git push origin")) == Verdict(
        decision="deny", rule='settings rule 2: deny Bash ["git", "push"]', reason="publishes", layer="settings"
    )


def test_words_are_compared_whole() -> None:
    policy = with_rules(words("git log", "deny"))
    assert [decided(policy, bash(text)) for text in ("git log -5", "git logout", "git", "gitx log")] == [
        "deny",
        None,
        None,
        None,
    ]


def test_a_denied_program_is_denied_by_any_path() -> None:
    assert decided(with_rules(words("rm", "deny")), bash("/bin/rm x")) == "deny"


def test_an_allowed_program_is_not_allowed_by_a_path() -> None:
    assert decided(with_rules(words("ls")), bash("./ls")) is None


def test_one_denied_command_denies_the_line() -> None:
    policy = with_rules(words("ls"), words("rm", "deny"))
    assert decided(policy, bash("ls", "env rm x", "rm x")) == "deny"


def test_a_line_is_allowed_only_if_every_command_is() -> None:
    policy = with_rules(words("ls"), words("cat"))
    assert [decided(policy, bash("ls -l", "cat f")), decided(policy, bash("ls", "make"))] == ["allow", None]


def test_a_harmless_command_needs_no_rule() -> None:
    policy = with_rules(words("ls"))
    assert decided(policy, bash("cd src", "ls", harmless=(("cd", "src"),))) == "allow"
    assert decided(policy, bash("cd src", harmless=(("cd", "src"),))) is None


def test_a_harmless_command_can_be_denied() -> None:
    assert decided(with_rules(words("cd", "deny")), bash("cd x", harmless=(("cd", "x"),))) == "deny"


def test_allow_answers_the_question_that_the_commands_themselves_raise() -> None:
    policy = with_rules(words("git push"))
    assert decided(policy, bash("git push", asks=True, reason="publishes")) == "allow"


def test_allow_does_not_answer_for_what_is_beside_the_commands() -> None:
    policy = with_rules(words("echo"), Rule(tool="Bash", decision="allow"))
    assert decided(policy, bash("echo x", plain=False, asks=True, reason="overwrites f")) is None
    assert decided(policy, bash("echo x", plain=False)) is None


def test_allow_does_not_answer_the_question_of_another_tools_plan() -> None:
    plan = Plan(summary="Write", asks=True)
    assert decided(with_rules(path("**", "allow")), plan, "write_file", path="a") is None


def test_commands_that_were_not_analysed_ask_where_words_have_rules() -> None:
    assert decided(with_rules(words("rm", "deny")), None, command="rm x") == "ask"


def test_no_command_is_allowed_by_a_rule_about_words() -> None:
    assert decided(with_rules(words("ls")), bash()) is None


@pytest.mark.parametrize("tool", ["Bash", "write_file"])
def test_full_access_asks_whatever_is_allowed(tool: str) -> None:
    policy = with_rules(Rule(tool=tool, decision="allow"))
    plan = bash("ls", access="full")
    policy.remember(tool, {}, plan)
    assert decided(policy, plan, tool) == "ask"


def test_full_access_can_be_denied() -> None:
    policy = with_rules(Rule(tool="Bash", args={"access": "full"}, decision="deny"))
    assert decided(policy, bash("ls", access="full"), access="full") == "deny"


def test_all_arguments_of_a_rule_must_fit() -> None:
    policy = with_rules(Rule(tool="x", args={"a": "y*", "n": 1}, decision="deny"))
    answers = [decided(policy, None, "x", **arguments) for arguments in ({"a": "yes", "n": 1}, {"a": "yes"}, {"n": 1})]
    assert answers == ["deny", None, None]


def test_values_that_are_no_text_are_compared_with_their_type() -> None:
    policy = with_rules(Rule(tool="x", args={"flag": True}, decision="deny"))
    assert [decided(policy, None, "x", flag=value) for value in (True, 1, "true", False)] == ["deny", None, None, None]


def test_an_argument_that_is_left_out_has_its_default() -> None:
    policy = with_rules(Rule(tool="Bash", args={"access": "write"}, decision="deny"))
    assert policy.decide("Bash", {}, bash("ls"), defaults={"access": "write"}) is not None


@pytest.mark.parametrize("typed", ["secrets/x", "./secrets/x", "a/../secrets/x", "secrets//x", "secrets", "secrets/."])
def test_a_path_is_matched_in_its_normal_form(typed: str) -> None:
    assert decided(with_rules(path("secrets/**", "deny")), None, "write_file", path=typed) == "deny"


def test_a_path_that_only_looks_as_if_it_were_inside_is_not_allowed() -> None:
    assert decided(with_rules(path("docs/**", "allow")), None, "write_file", path="docs/../src/a.py") is None


def test_every_path_of_a_list_must_be_allowed_and_none_denied() -> None:
    rules = Rule(tool="x", args={"file": "docs/**"}, decision="allow")
    assert decided(with_rules(rules), None, "x", file=["docs/a", "docs/b"]) == "allow"
    assert decided(with_rules(rules), None, "x", file=["docs/a", "src/b"]) is None
    assert decided(with_rules(rules), None, "x", file=["docs/a", 7]) is None
    denied = Rule(tool="x", args={"file": "docs/**"}, decision="deny")
    assert decided(with_rules(denied), None, "x", file=[7, "src/b", "docs/a"]) == "deny"


def test_a_link_is_followed_by_rules(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link").symlink_to("../secrets")
    workspace = Workspace(tmp_path)
    arguments = {"path": "docs/link/new.txt"}
    denying, allowing = with_rules(path("secrets/**", "deny")), with_rules(path("docs/**", "allow"))
    assert denying.decide("write_file", arguments, None, workspace=workspace) is not None
    assert allowing.decide("write_file", arguments, None, workspace=workspace) is None


def test_an_absolute_path_inside_the_root_is_relative_to_it(tmp_path: Path) -> None:
    verdict = with_rules(path("secrets/**", "deny")).decide(
        "write_file", {"path": f"{tmp_path}/secrets/x"}, None, workspace=Workspace(tmp_path)
    )
    assert verdict is not None


def test_what_the_plan_touches_counts_as_the_path() -> None:
    plan = Plan(summary="Write", resources=("secrets/x",))
    assert decided(with_rules(path("secrets/**", "deny")), plan, "write_file", path="x") == "deny"
    assert decided(with_rules(path("docs/**", "allow")), plan, "write_file", path="docs/x") is None


ALLOW_RM = '[[rule]]\ntool = "Bash"\nwords = ["rm"]\ndecision = "allow"\n'
DENY_RM = ALLOW_RM.replace("allow", "deny")


def test_a_projects_allow_has_no_effect_and_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        policy = Policy.load(project_text=ALLOW_RM)
    assert decided(policy, bash("rm x", asks=True)) is None
    assert policy.ignored == ['project rule 1: allow Bash ["rm"] (a project can only tighten)']
    assert caplog.messages[0].startswith("policy_rules_ignored file='.toolgate/policy.toml'")


def test_a_projects_deny_beats_the_users_allow() -> None:
    assert decided(Policy.load(project_text=DENY_RM, extra=[words("rm")]), bash("rm x")) == "deny"


def test_a_projects_rule_about_something_else_changes_nothing() -> None:
    assert decided(Policy.load(project_text=DENY_RM, extra=[words("ls")]), bash("ls")) == "allow"


ELSE_ASK = '[unmatched]\nBash = "ask"\n'


def unmatched(decision: str, tmp_path: Path, *rules: Rule, project: str | None = None) -> Policy:
    file = tmp_path / "policy.toml"
    file.write_text(f'[unmatched]\nBash = "{decision}"\n')
    return Policy.load(user_file=file, extra=rules, project_text=project)


def test_unmatched_decides_about_commands_without_a_rule(tmp_path: Path) -> None:
    policy = unmatched("ask", tmp_path, words("ls"), words("rm", "deny"))
    plans = [bash("ls"), bash("make"), bash("ls", "make"), bash("rm x"), bash("ls", plain=False)]
    assert [decided(policy, plan) for plan in plans] == ["allow", "ask", "ask", "deny", "ask"]


def test_unmatched_is_about_each_command(tmp_path: Path) -> None:
    policy = unmatched("deny", tmp_path, words("git push", "ask"))
    assert [decided(policy, bash("git push")), decided(policy, bash("git push", "make"))] == ["ask", "deny"]


def test_a_projects_ask_does_not_weaken_unmatched(tmp_path: Path) -> None:
    policy = unmatched("deny", tmp_path, project=ALLOW_RM.replace("allow", "ask"))
    assert decided(policy, bash("rm x")) == "deny"


def test_the_strictest_unmatched_wins(tmp_path: Path) -> None:
    assert decided(unmatched("deny", tmp_path, project=ELSE_ASK), bash("ls")) == "deny"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
@pytest.mark.parametrize("target", [".git/HEAD", "sub/.git/info/attributes", "tool-output/x.json"])
def test_built_in_questions_are_not_lifted(tool: str, target: str) -> None:
    assert decided(with_rules(path("**", "allow", tool)), None, tool, path=target) == "ask"


def test_a_remembered_call_is_allowed_exactly() -> None:
    policy = with_rules(Rule(tool="Bash", decision="ask"))
    policy.remember("Bash", {"command": "ls"}, bash("ls"))
    assert decided(policy, bash("ls"), command="ls") == "allow"
    others = [bash("ls -l"), bash("ls", "rm x"), bash("ls", access="read"), bash("ls", summary="in src")]
    assert [decided(policy, plan, command="ls") for plan in others] == ["ask"] * 4
    assert decided(policy, bash("ls"), command="ls; rm x") == "ask"


def test_a_remembered_call_does_not_lift_a_deny() -> None:
    policy = with_rules(words("rm", "deny"))
    policy.remember("Bash", {}, bash("rm x"))
    assert decided(policy, bash("rm x")) == "deny"


def test_another_session_remembers_nothing() -> None:
    policy = with_rules(Rule(tool="Bash", decision="ask"))
    policy.remember("Bash", {}, bash("ls"))
    assert decided(policy.session(), bash("ls")) == "ask"


def test_a_tool_without_a_plan_is_remembered_by_its_arguments() -> None:
    policy = with_rules(Rule(tool="x", decision="ask"))
    policy.remember("x", {"a": 1, "b": 2}, None)
    assert decided(policy, None, "x", b=2, a=1) == "allow"
    assert decided(policy, None, "x", a=True, b=2) == "ask"


def test_the_rule_that_is_remembered_can_be_read() -> None:
    shown = Policy.load().rule_shown("Bash", {"command": "ls\x1b[2K\u202e"}, None)
    assert shown.startswith('session: allow exactly Bash {"command": "ls\\u001b[2K\\u202e"}, planned as now (sha256 ')


def test_a_long_rule_is_elided_with_counts() -> None:
    shown = Policy.load().rule_shown("Bash", {"command": "x" * 10_000 + "rm y"}, None)
    assert "[…6019 characters…]" in shown
    assert 'rm y"}' in shown


def test_full_access_is_never_remembered() -> None:
    shown = Policy.load().rule_shown("Bash", {}, bash("ls", access="full"))
    assert shown == "Bash with full access is asked about every time: nothing is remembered"


def test_what_is_recalled_is_allowed_exactly_and_lifts_neither_a_deny_nor_full_access() -> None:
    plans = [bash("ls"), bash("rm x"), bash("ls", access="full")]
    policy = with_rules(Rule(tool="Bash", decision="ask"), words("rm", "deny"))
    policy.recall([policy.fingerprint("Bash", {}, plan) for plan in plans])
    assert [decided(policy, plan) for plan in plans] == ["allow", "deny", "ask"]
    assert decided(policy, bash("ls -l")) == "ask"


def test_only_tools_with_rules_are_a_concern() -> None:
    policy = with_rules(Rule(tool="x", decision="ask"))
    assert [policy.concerns("x"), policy.concerns("y"), "x" in policy.tools] == [True, False, True]
