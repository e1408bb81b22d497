"""Secret files: the plan of a tool that would show one, so that a person is asked."""

from __future__ import annotations

from toolgate.errors import ToolError
from toolgate.protocol.plan import Plan, Precondition
from toolgate.tools.context import ToolContext
from toolgate.workspace.oserrors import quote


def reveals_plan(context: ToolContext, verb: str, path: str) -> Plan | None:
    """The plan of a call that shows a secret file; None for any other file. Raises `ToolError` if a rule denies it."""
    try:
        guarded = context.guard.judge(path)
    except ToolError:  # not a path of the project, or no workspace; the call reports that itself
        return None
    if guarded is None:
        return None
    if guarded.denied:
        raise context.guard.refusal(guarded)
    hint = context.guard.template_hint(guarded.path)
    reason = f"{quote(guarded.path)} may hold {guarded.reason}, and the model would see it{hint}"
    return Plan(
        summary=f"{verb} {quote(path)}, which may hold secrets",
        detail=reason,
        access="read",
        resources=(guarded.path,),
        preconditions=(Precondition(resource=guarded.path, state=context.require_workspace().state(guarded.path)),),
        reason=reason,
        reveals=(guarded.path,),
    )


def allowed_secrets(context: ToolContext) -> tuple[str, ...]:
    """The secret files that the current call may show, because its plan was allowed."""
    return () if context.plan is None else context.plan.reveals
