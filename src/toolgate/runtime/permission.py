"""The permission gate: the policy decides first, then a person. An approval is bound to exactly what was shown."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from toolgate.errors import PolicyError, ToolError
from toolgate.log import logger
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode
from toolgate.protocol.ports import Unattended
from toolgate.protocol.record import Decision, Verdict
from toolgate.runtime.approval_modes import accept_edits_allows, plan_mode_refuses
from toolgate.runtime.denials import PLAN_NEXT
from toolgate.runtime.hook_gate import approval_denied
from toolgate.runtime.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate.protocol.plan import Plan
    from toolgate.runtime.hooks import Hooks
    from toolgate.runtime.policy import Policy
    from toolgate.workspace.file_guard import FileGuard

T = TypeVar("T")

_LARGE = 1 << 14
"""Plans with more characters are judged in a thread, so that the event loop is not blocked."""


def judge(invocation: Invocation, policy: Policy) -> Decision:
    """Allow, ask or deny, and why; nobody is asked yet."""
    name, plan, mode = invocation.name, invocation.plan, invocation.context.state.approval_mode
    defaults = vars(invocation.params) if invocation.params is not None else {}
    resolved_paths = invocation.resolved_paths = {}
    verdict = policy.decide(
        name,
        invocation.arguments,
        plan,
        workspace=invocation.context.workspace,
        defaults=defaults,
        resolved_paths=resolved_paths,
    )
    if verdict is not None and verdict.decision == "deny":
        return Decision(decision="deny", gate="policy", rule=verdict.rule, reason=verdict.reason)
    if mode is ApprovalMode.plan and (refusal := plan_mode_refuses(invocation)) is not None:
        return refusal
    if getattr(invocation.params, "dry_run", False) is True:  # it may be forbidden, but nobody is asked about it
        return Decision(decision="allow", gate="permission", reason="a dry run changes nothing")
    if invocation.hook_asks:
        return Decision(decision="ask", gate="permission", reason=f"hook: {invocation.hook_asks}")
    if plan is not None and plan.question is not None:
        return Decision(decision="ask", gate="permission", reason="the model asks a question")
    if plan is not None and plan.access == "full":
        return Decision(decision="ask", gate="permission", reason=plan.reason or "full access always asks")
    if verdict is not None:
        return Decision(decision=verdict.decision, gate="policy", rule=verdict.rule, reason=verdict.reason)
    if mode is ApprovalMode.accept_edits and (accepted := accept_edits_allows(invocation)) is not None:
        return accepted
    if plan is not None and plan.asks:
        return Decision(decision="ask", gate="permission", reason=plan.reason or "potentially dangerous")
    declared = invocation.declaration
    asks = declared.requires_permission
    if declared.own_permission is not None:
        asks = declared.asks_by_itself(invocation.tool, invocation.params, invocation.context)
    if asks:
        return Decision(decision="ask", gate="permission", reason=f"{name} needs permission")
    return Decision(decision="allow", gate="permission", reason="no rule and no permission needed")


def denied_path(invocation: Invocation, policy: Policy) -> ToolResponse | None:
    """The refusal of a call with a path that a rule denies to every tool. Checked before the tool reads anything."""
    workspace = invocation.context.workspace
    if not policy.path_rules.denied or workspace is None or not isinstance(invocation.arguments, dict):
        return None
    from toolgate.runtime.policy.globs import is_path_name

    for name, value in invocation.arguments.items():
        for path in value if isinstance(value, list) else [value]:
            if not isinstance(path, str) or not is_path_name(name):
                continue
            guard = invocation.context.for_path(path).guard
            if (rule := _denied_by(guard, path)) is not None:
                reason = "a rule denies this path to every tool"
                invocation.decision = Decision(decision="deny", gate="policy", rule=rule, reason=reason)
                return _denial(invocation.decision, guard.template_hint(path))
    return None


def _denied_by(guard: FileGuard, path: str) -> str | None:
    try:
        return guard.denied_by(path)
    except ToolError:  # not a path of the project; the tool reports that
        return None


async def _off_the_loop(plan: Plan | None, work: Callable[[], T]) -> T:
    """Return what `work` returns. With a large plan it runs in a thread, so that the event loop is not blocked."""
    if plan is None or len(plan.detail) <= _LARGE:
        return work()
    from toolgate.workspace.threads import in_thread

    return await in_thread(lambda _stop: work())


async def authorise(
    invocation: Invocation, policy: Policy, secrets: tuple[str, ...], hooks: Hooks | None
) -> ToolResponse | None:
    """The refusal, or None if the call may run. `invocation.decision` says who decided.

    The person who is asked sees none of `secrets`. One of the user's hooks may deny the question before it is asked.
    """
    known = policy.layers, invocation.context.state.approval_mode
    invocation.decision = await _off_the_loop(invocation.plan, lambda: judge(invocation, policy))
    if invocation.decision.decision == "allow":
        _note_approval(invocation, policy.remembers(invocation.tool.name, invocation.arguments, invocation.plan))
        return None
    if invocation.decision.decision == "deny":
        return _denial(invocation.decision)
    return await _ask(invocation, policy, secrets, hooks, known)


def _denial(decision: Decision, template: str = "") -> ToolResponse:
    """The answer to a call that the policy or plan mode denies. `template` may name a file to read instead."""
    if decision.gate == "permission":
        return ToolResponse.failure(ErrorCode.APPROVAL_DENIED, _sentence(decision.reason), next_step=PLAN_NEXT)
    rule = f" (rule: {decision.rule})" if decision.rule else ""
    return _refused(f"The policy denies this call: {decision.reason.rstrip('.')}{rule}{template}.")


async def _ask(
    invocation: Invocation, policy: Policy, secrets: tuple[str, ...], hooks: Hooks | None, known: object
) -> ToolResponse | None:
    """Ask a person. `known` is what the call was judged by: if it has changed meanwhile, the call is judged again."""
    reason = invocation.decision.reason if invocation.decision else ""
    from toolgate.runtime.question import question_of

    request = await _off_the_loop(invocation.plan, lambda: question_of(invocation, policy, reason, secrets))
    approval = await _approval(invocation, policy, request, hooks)
    refresh = invocation.context.refresh_permissions
    if approval.allowed and approval.approval_mode is None and refresh is not None:
        await refresh()  # the person may have switched the approval mode, or written a rule, while it was open
    if approval.allowed and (policy.layers, invocation.context.state.approval_mode) != known:
        refusal = await _off_the_loop(invocation.plan, lambda: _denied_meanwhile(invocation, policy))
        if refusal is not None:
            return refusal
    verdict: Verdict = "allow" if approval.allowed else "deny"
    invocation.decision = Decision(
        decision=verdict, gate="permission", rule="", reason=approval.message or reason or verdict
    )
    if not approval.allowed:
        return _not_approved(invocation, policy, request, approval, secrets)
    if approval.remember:
        try:
            await remember(invocation, policy, request, approval)
        except PolicyError as error:
            invocation.decision = Decision(decision="deny", gate="permission", reason=str(error))
            return _refused(f"The call was not run, because its rule was not saved. {error}")
    _note_approval(invocation, True)
    invocation.context.approval = approval
    return None


async def _approval(invocation: Invocation, policy: Policy, request: ApprovalRequest, hooks: Hooks | None) -> Approval:
    """What a hook or the approver answers. A denial if the answer does not fit the request or the call has changed."""
    asked = perf_counter()
    try:
        denied = "" if hooks is None else await approval_denied(hooks, invocation, request)
        answer = Approval(allowed=False, message=f"hook: {denied}") if denied else await _answer(invocation, request)
        approval = checked(answer, request)
    finally:
        invocation.started += perf_counter() - asked  # waiting for a person does not count as run time of the call
    if request.question is not None and approval.allowed and not approval.text.strip():
        approval = Approval(allowed=False, message="no answer was given")
    fingerprint = await _off_the_loop(
        invocation.plan, lambda: policy.fingerprint(invocation.name, invocation.arguments, invocation.plan)
    )
    if approval.allowed and fingerprint != request.fingerprint:
        approval = Approval(allowed=False, message="the call changed after it was shown")
    return approval


def _not_approved(
    invocation: Invocation, policy: Policy, request: ApprovalRequest, approval: Approval, secrets: tuple[str, ...]
) -> ToolResponse:
    """The answer to a call that was not approved. If no person has seen the request, it says which rule would allow."""
    if request.question is not None:
        return _unanswered(approval)
    approver = invocation.context.approver
    unseen = approver is None
    if isinstance(approver, Unattended):
        unseen = approver.advise(request, lambda: _rules(invocation, policy, secrets))
    advice = _advice(invocation, policy, secrets) if unseen else ""
    message = approval.message.rstrip(".") or "denied"
    return _refused(f"This call was not approved: {message}{_templates(invocation)}.", advice)


def _denied_meanwhile(invocation: Invocation, policy: Policy) -> ToolResponse | None:
    """The refusal of an approved call that a new rule or a switch to plan mode denies; None if it may run."""
    now = judge(invocation, policy)
    by_mode_gate = now.gate == "permission" and ApprovalMode.plan not in invocation.declaration.approval_modes
    if now.decision != "deny" or by_mode_gate:  # the mode gate is checked again anyway
        return None
    invocation.decision = now
    return _denial(now)


def _templates(invocation: Invocation) -> str:
    """A clause about the template of a secret file that the call would have shown; empty if there is none."""
    plan = invocation.plan
    if plan is None or not plan.reveals:
        return ""
    return invocation.context.guard.template_hint(plan.reveals[0])


def checked(approval: Approval, request: ApprovalRequest) -> Approval:
    """The answer; a denial if it asks to remember a choice that was not offered."""
    if not (approval.allowed and approval.remember) or approval.choice is None:
        return approval  # a call that cannot be remembered is allowed this once
    offered = request.choice(approval.choice)
    if offered is None or approval.scope not in offered.scopes:
        return Approval(allowed=False, message="the answer names a choice that was not offered")
    return approval


async def remember(invocation: Invocation, policy: Policy, request: ApprovalRequest, approval: Approval) -> None:
    """Store the rule that the person has picked: for the session, or in the user's own policy file."""
    choice = request.choice(approval.choice or "call")
    if choice is None or choice.id == "call":
        policy.remember(invocation.name, invocation.arguments, invocation.plan)
        return
    from toolgate.runtime.policy.offers import rules_of

    rules = rules_of(choice)
    if approval.scope == "session":
        policy.replace_session_rules((*policy.session_rules, *rules))
        return
    from toolgate.runtime.project_rules import remember_for_project

    await remember_for_project(invocation.context, choice)


def _note_approval(invocation: Invocation, approved: bool) -> None:
    """Tell a tool that plans whether a person has allowed what it planned: then nothing else may run."""
    if invocation.prepares:
        invocation.context.approved = approved


async def _answer(invocation: Invocation, request: ApprovalRequest) -> Approval:
    """The approver's answer. Without an approver, after an exception or with any other value it is a denial."""
    approver = invocation.context.approver
    if approver is None:
        is_question = request.question is not None
        message = "nobody can be asked here" if is_question else "it needs permission and nobody can be asked here"
        return Approval(allowed=False, message=message)
    try:
        approval: object = await approver.decide(request)
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a question that breaks, however it does, is answered with no
        logger("permission").error("approver_failed", error=type(error).__name__, exc_info=error)
        return Approval(allowed=False, message="the question could not be asked")
    if not isinstance(approval, Approval):
        logger("permission").error("approver_failed", error=f"answered with {type(approval).__name__}")
        return Approval(allowed=False, message="the question was not answered")
    return approval


def _rules(invocation: Invocation, policy: Policy, secrets: tuple[str, ...]) -> str | None:
    """The rules that would allow the call, as text without secrets."""
    from toolgate.runtime.policy.suggest import allowing_rules
    from toolgate.text.visible import visible_without

    defaults = vars(invocation.params) if invocation.params is not None else {}
    rules = allowing_rules(
        policy,
        invocation.name,
        invocation.arguments,
        invocation.plan,
        workspace=invocation.context.workspace,
        defaults=defaults,
    )
    return None if rules is None else visible_without(secrets, rules)[0]


def _advice(invocation: Invocation, policy: Policy, secrets: tuple[str, ...]) -> str:
    """What the user can do if nobody can be asked: add the rule that would allow the call."""
    rules = _rules(invocation, policy, secrets)
    if rules is None:
        return " No policy rule can allow it: it has to be asked about."
    place = "their policy file (TOOLGATE_POLICY_FILE, else toolgate/policy.toml in their config directory)"
    return f" The user can allow it with this rule in {place}:\n{rules}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _unanswered(approval: Approval) -> ToolResponse:
    message = f"The question was not answered: {approval.message.rstrip('.') or 'the user declined'}."
    step = "Decide yourself where that does no harm, and say what you assumed; otherwise end with your question."
    return ToolResponse.failure(ErrorCode.APPROVAL_DENIED, message, next_step=step)


def _refused(message: str, advice: str = "") -> ToolResponse:
    step = "Do not repeat this call unchanged: choose another way, or ask the user what they prefer."
    return ToolResponse.failure(ErrorCode.APPROVAL_DENIED, message, next_step=step + advice)
