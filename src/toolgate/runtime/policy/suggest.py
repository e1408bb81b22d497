"""The rules that would allow a call, for a caller that has nobody to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.runtime.policy.kinds import KINDS, SHELL, toml_text
from toolgate.runtime.policy.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolgate.protocol.plan import Plan
    from toolgate.runtime.policy.decide import Policy
    from toolgate.workspace import Workspace

_MAX_CHARACTERS = 4000
"""Characters of rules that are worth showing."""


def allowing_rules(
    policy: Policy,
    tool_name: str,
    arguments: dict[str, Any],
    plan: Plan | None,
    *,
    workspace: Workspace | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> str | None:
    """The narrowest rules that would allow this call, as TOML; None if no rule of the user's can."""
    if plan is not None and (plan.access == "full" or plan.once):
        return None  # such a rule would also allow any other words, because they are only known when the command runs
    try:
        rules = [*_candidates(tool_name, arguments, plan), *_of_secrets(tool_name, plan)]
        trial = policy.with_rules(rules)
    except ValueError:
        return None  # a word or path that no rule can be written about
    verdict = trial.decide(tool_name, arguments, plan, workspace=workspace, defaults=defaults or {})
    if verdict is None or verdict.decision != "allow":
        return None
    text = "\n".join(map(rule_text, rules))
    return text if len(text) <= _MAX_CHARACTERS else None


def _candidates(tool_name: str, arguments: dict[str, Any], plan: Plan | None) -> list[Rule]:
    if tool_name == SHELL and plan is not None and plan.commands:
        needed = dict.fromkeys(command for command in plan.commands if command not in plan.harmless)
        return [Rule(tool=tool_name, words=words, decision="allow") for words in needed or plan.commands]
    path = arguments.get("path")
    if isinstance(path, str):
        return [Rule(tool=tool_name, args={"path": path}, decision="allow")]
    if isinstance(arguments.get("url"), str) and plan is not None and len(plan.resources) == 1:
        return [Rule(tool=tool_name, args={"url": plan.resources[0]}, decision="allow")]
    return [Rule(tool=tool_name, decision="allow")]


def _of_secrets(tool_name: str, plan: Plan | None) -> list[Rule]:
    """Rules that allow showing the secret files of a command; those of a file tool are about its path already."""
    if plan is None or tool_name != SHELL:
        return []
    return [Rule(tool="read_file", args={"path": path}, decision="allow") for path in plan.reveals if path[0] != "/"]


def rule_text(rule: Rule, tools: Sequence[str] = ()) -> str:
    """A rule as it is written in a policy file; the same rule for each of several `tools`, if they are given."""
    lines = []
    key, value = rule.condition()
    if key:
        lines.append(f"{key} = {KINDS[key].toml(value)}")
    lines.append(f"decision = {toml_text(rule.decision)}")
    if rule.project is not None:
        lines.append(f"project = {toml_text(rule.project)}")
    rest = "\n".join(lines)
    return "\n".join(f"[[rule]]\ntool = {toml_text(tool)}\n{rest}" for tool in tools or (rule.tool,))
