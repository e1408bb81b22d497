"""The choices for remembering an approval: from this exact call to all edits in a folder."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from toolgate.errors import PolicyError
from toolgate.protocol.approval import ApprovalChoice, ChoiceId, Scope
from toolgate.runtime.policy.builtin import WRITERS
from toolgate.runtime.policy.load import parse_policy
from toolgate.runtime.policy.reading import READER
from toolgate.runtime.policy.rules import Rule
from toolgate.runtime.policy.suggest import rule_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolgate.protocol.plan import Plan
    from toolgate.runtime.policy.decide import Policy
    from toolgate.workspace import Workspace

_MAX_CHARACTERS = 4000
"""Characters of a rule that is offered; a longer one cannot be judged."""
_WILD = frozenset("*?")
_Candidate = tuple[ChoiceId, str, Rule, tuple[str, ...]]
"""Id and label of a choice, its rule for the tool of the call, and the tools that it offers the rule for."""


def choices_of(
    policy: Policy,
    tool_name: str,
    arguments: dict[str, Any],
    plan: Plan | None,
    *,
    workspace: Workspace | None = None,
    defaults: Mapping[str, Any] | None = None,
    resolved_paths: dict[str, tuple[str, ...]] | None = None,
    fingerprint: str = "",
    for_project: bool = False,
) -> tuple[ApprovalChoice, ...]:
    """The choices for a call, the narrowest first; empty if it is asked about every time.

    A rule is offered only if it would have allowed this call. It cannot override a rule of another layer that asks, a
    danger, or a missing sandbox. `resolved_paths` and `fingerprint` are the call's own, if the caller has them already.
    """
    if not policy.can_remember(plan):
        return ()
    exact = policy.rule_shown(tool_name, arguments, plan, fingerprint)
    found = [ApprovalChoice(id="call", label="this exact call", rule=exact)]
    if plan is None or plan.asks or plan.unconfined:
        return tuple(found)
    project = policy.project if for_project else None
    scopes: tuple[Scope, ...] = ("session",) if project is None else ("session", "project")
    for choice_id, label, rule, tools in _candidates(tool_name, arguments, plan, project):
        verdict = policy.with_rules([rule]).decide(  # the same rule for another tool would not change it
            tool_name, arguments, plan, workspace=workspace, defaults=defaults or {}, resolved_paths=resolved_paths
        )
        text = rule_text(rule, tools)
        if verdict is not None and verdict.decision == "allow" and len(text) <= _MAX_CHARACTERS:
            found.append(ApprovalChoice(id=choice_id, label=label, rule=text, scopes=scopes))
    return tuple(found)


def rules_of(choice: ApprovalChoice) -> tuple[Rule, ...]:
    """The rules of a choice, as they were shown; none for an exact call. Raises `PolicyError`."""
    if choice.id == "call":
        return ()
    rules = parse_policy(choice.rule, "the rule that was picked").rules
    if not rules or any(is_unlimited(rule) for rule in rules):
        raise PolicyError("A rule that would allow every call of a tool is not remembered.")
    return rules


def is_unlimited(rule: Rule) -> bool:
    """Whether a rule would allow every call of its tool."""
    key, value = rule.condition()
    if not key:
        return True
    if key == "args":
        return all(isinstance(pattern, str) and not pattern.strip("*?/.") for pattern in value.values())
    return False


def _candidates(tool_name: str, arguments: dict[str, Any], plan: Plan, project: str | None) -> Iterator[_Candidate]:
    try:
        yield from _of_paths(tool_name, arguments, plan, project)
        if isinstance(arguments.get("url"), str) and len(plan.resources) == 1:
            yield from _of_host(tool_name, plan.resources[0], project)
        for words in plan.prefixes:
            line = " ".join(words)
            rule = _allowing(tool_name, project, words=words)
            if len(words) == 1:
                yield "command", f"'{line}' with any arguments", rule, (tool_name,)
            else:
                yield "prefix", f"commands beginning with '{line}'", rule, (tool_name,)
    except ValidationError:
        return  # a word, a path or a project that no rule can be written about


def _allowing(tool_name: str, project: str | None, **conditions: Any) -> Rule:
    return Rule.model_validate({"tool": tool_name, "decision": "allow", "project": project, **conditions})


def _of_host(tool_name: str, url: str, project: str | None) -> Iterator[_Candidate]:
    """A rule about all pages of a host."""
    parts = urlsplit(url)
    if _WILD & set(parts.netloc) or not parts.netloc:
        return
    rule = _allowing(tool_name, project, args={"url": f"{parts.scheme}://{parts.netloc}/*"})
    yield "prefix", f"pages of {parts.netloc}", rule, (tool_name,)


def _of_paths(tool_name: str, arguments: dict[str, Any], plan: Plan, project: str | None) -> Iterator[_Candidate]:
    """Rules about the one file that a call writes, and about the folder that it is in; or about a secret file."""
    if tool_name == READER and len(plan.reveals) == 1 and not _WILD & set(plan.reveals[0]):
        path = plan.reveals[0]
        if path.startswith("/"):  # rules are about paths of projects
            return
        shows = _allowing(READER, project, args={"path": path})
        yield "file", f"reading {path}, also in commands", shows, (READER,)
    if not plan.reversible or len(plan.resources) != 1 or "path" not in arguments:
        return
    path = plan.resources[0]
    if path in ("", ".") or _WILD & set(path):
        return
    tools = WRITERS if tool_name in WRITERS else (tool_name,)
    yield "file", f"edits to {path}", _allowing(tool_name, project, args={"path": path}), tools
    folder = posixpath.dirname(path)
    if folder:  # a rule for the root would allow every edit; the approval mode accept_edits is for that
        yield "folder", f"edits in {folder}", _allowing(tool_name, project, args={"path": f"{folder}/**"}), tools
