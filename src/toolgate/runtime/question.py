"""Builds the approval request: what will happen, how risky it is, and what may be remembered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolgate.protocol.approval import ApprovalChoice, ApprovalRequest, Question, Risk
from toolgate.protocol.ids import uuid7
from toolgate.protocol.plan import Plan

if TYPE_CHECKING:
    from toolgate.runtime.invocation import Invocation
    from toolgate.runtime.policy import Policy

_MAX_LABEL = 60
_MAX_LABELS = 6
_REACH = {
    "read": "It can read the project and change nothing; it has no network.",
    "write": "It can change files of the project; it has no network.",
    "full": "It has the network and reaches beyond the project.",
}


def question_of(invocation: Invocation, policy: Policy, reason: str, secrets: tuple[str, ...]) -> ApprovalRequest:
    """The approval request of a call. Its texts are safe to show."""
    from toolgate.text.visible import visible_without

    plan = invocation.plan or _unplanned(invocation)
    fingerprint, request_id = policy.fingerprint(invocation.name, invocation.arguments, invocation.plan), uuid7()
    choices, labels = _choices(invocation, policy, fingerprint), labels_of(plan)
    texts = [plan.summary, plan.detail, reason, _sentence(invocation.name, plan), *labels]
    shown = visible_without(secrets, *texts, *(text for choice in choices for text in (choice.label, choice.rule)))
    summary, detail, reason, sentence = shown[:4]
    of_choices = shown[len(texts) :]
    offered = _shown_choices(choices, of_choices[::2], of_choices[1::2])
    return ApprovalRequest(
        id=request_id,
        tool_name=invocation.name,
        call_id=invocation.call_id,
        session_id=invocation.context.session_id,
        agent=invocation.context.agent,
        summary=summary,
        detail=detail,
        fingerprint=fingerprint,
        reason=reason,
        rule=next((choice.rule for choice in offered if choice.id == "call"), ""),
        sentence=sentence,
        risk=risk_of(plan),
        labels=tuple(shown[4 : len(texts)]),
        choices=offered,
        question=_safe_question(plan, secrets),
    )


def risk_of(plan: Plan) -> Risk:
    """How much harm an approval can do: high if the effect cannot be undone or is not confined."""
    if plan.access == "full" or plan.unconfined:
        return "high"
    if plan.reversible or plan.access == "read":
        return "low"
    return "high" if plan.asks else "medium"


def labels_of(plan: Plan) -> list[str]:
    """Why a person is asked, as short labels."""
    labels = ["full access"] if plan.access == "full" else []
    labels += ["not confined"] if plan.unconfined else []
    labels += ["asked every time"] if plan.once else []
    labels += [_short(reason) for reason in plan.reason.split("; ") if reason]
    labels += ["can be undone"] if plan.reversible else []
    return list(dict.fromkeys(labels))[:_MAX_LABELS]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…"


def _sentence(name: str, plan: Plan) -> str:
    """One sentence of what will happen; of a command, what it can reach."""
    if name == "Terminal":
        return f"Types this into a running command. {_REACH[plan.access]}"
    if plan.commands or name == "Bash":
        return f"Runs this command. {_REACH[plan.access]}"
    end = " Undo can take it back." if plan.reversible else ""
    return f"{plan.summary}.{end}"


def _choices(invocation: Invocation, policy: Policy, fingerprint: str) -> tuple[ApprovalChoice, ...]:
    from toolgate.runtime.policy.offers import choices_of
    from toolgate.runtime.project_rules import can_remember_for_project

    context = invocation.context
    return choices_of(
        policy,
        invocation.name,
        invocation.arguments,
        invocation.plan,
        workspace=invocation.context.workspace,
        defaults=vars(invocation.params) if invocation.params is not None else {},
        resolved_paths=invocation.resolved_paths,
        fingerprint=fingerprint,
        for_project=context.remembers_for_project
        and can_remember_for_project(context.settings.policy_file, context.workspace),
    )


def _safe_question(plan: Plan, secrets: tuple[str, ...]) -> Question | None:
    if plan.question is None:
        return None
    from toolgate.text.visible import visible_without

    text, *options = visible_without(secrets, plan.question.text, *plan.question.options)
    return Question(text=text, options=tuple(options))


def _shown_choices(
    choices: tuple[ApprovalChoice, ...], labels: list[str], rules: list[str]
) -> tuple[ApprovalChoice, ...]:
    """The choices whose rules can be shown in full: what is stored is what was shown."""
    shown = []
    for choice, label, rule in zip(choices, labels, rules, strict=True):
        if (label, rule) == (choice.label, choice.rule):
            shown.append(choice)
        elif choice.id == "call":
            shown.append(choice.model_copy(update={"label": label, "rule": rule}))
    return tuple(shown)


def _unplanned(invocation: Invocation) -> Plan:
    """A plan for a tool without `prepare`: it shows the arguments."""
    return Plan(
        summary=f"Run {invocation.name}",
        detail=json.dumps(invocation.arguments, ensure_ascii=False, indent=2),
        access="read" if invocation.declaration.read_only else "write",
    )
