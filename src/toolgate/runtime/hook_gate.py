"""Runs the user's hooks of a call: before it is planned, before a person is asked, and after it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.jsontext import encode
from toolgate.runtime.hooks import Hooks

if TYPE_CHECKING:
    from toolgate.protocol.approval import ApprovalRequest
    from toolgate.runtime.admission import Admission
    from toolgate.runtime.invocation import Invocation


async def before_call(hooks: Hooks, invocation: Invocation, admission: Admission) -> ToolResponse | None:
    """Run the hooks; return a refusal, or None. Changed arguments are admitted, planned and shown like the model's."""
    if not hooks.concerns("before_call"):
        return None
    outcome = await hooks.run(
        "before_call", invocation.name, invocation.arguments, invocation.context, tool_use_id=invocation.call_id
    )
    if outcome.denied:
        step = "Do not repeat this call unchanged: choose another way, or ask the user."
        message = f"A hook of the user denied this call: {outcome.denied.rstrip('.')}."
        denial = ToolResponse.failure(ErrorCode.APPROVAL_DENIED, message, next_step=step)
        return invocation.refuse("permission", denial)
    invocation.hook_asks = invocation.hook_asks or outcome.asks
    if outcome.context:
        invocation.notes = (*invocation.notes, outcome.context)
    if outcome.arguments is None or outcome.arguments == invocation.arguments:
        return None
    invocation.notes = (*invocation.notes, f"the arguments were changed to {encode(outcome.arguments)[:2000]}")
    invocation.replace_arguments(outcome.arguments)
    return admission.admit(invocation)


async def approval_denied(hooks: Hooks, invocation: Invocation, request: ApprovalRequest) -> str:
    """Why a hook denies the request before a person sees it; empty if none does. No hook allows one."""
    if not hooks.concerns("approval"):
        return ""
    shown = {"summary": request.summary, "detail": request.detail, "risk": request.risk}
    outcome = await hooks.run("approval", invocation.name, invocation.arguments, invocation.context, approval=shown)
    return outcome.denied


async def after_call(hooks: Hooks, invocation: Invocation, response: ToolResponse, output: str) -> str:
    """The output with the text that hooks add. The hooks after a call run only if the call ran."""
    ran = invocation.inner or invocation
    notes = [*invocation.notes, *(ran.notes if ran is not invocation else ())]
    if ran.executed and hooks.concerns("after_call"):
        answer = {"status": response.status.value, "text": response.text, "output": output[:50_000]}
        outcome = await hooks.run("after_call", ran.name, ran.arguments, ran.context, tool_response=answer)
        notes += [outcome.context] if outcome.context else []
    return "\n".join([output, *(f"[A hook of the user: {note}]" for note in notes)]) if notes else output
