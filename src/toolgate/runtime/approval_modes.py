"""What the person's approval mode decides about a call, before anybody is asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolgate.protocol.modes import ApprovalMode
from toolgate.protocol.record import Decision

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.runtime.invocation import Invocation

RUN_BY_OTHERS = frozenset(
    """
    .git .toolgate .vscode .idea .devcontainer .zed .fleet .nova .vs .husky .lefthook lefthook.yml
    .pre-commit-config.yaml .envrc .mise.toml mise.toml .autoenv .exrc .vimrc .nvimrc .nvim.lua .dir-locals.el
    .mcp.json .claude .cursor .codex .gemini .opencode opencode.json opencode.jsonc .kimi .kiro .windsurf .continue
    .roo .amazonq .aider.conf.yml
    """.split()
)
"""Names of files and directories whose content other programs run on their own. Writing there always asks."""
_PLAN = f"approval mode: {ApprovalMode.plan.value}"
_ACCEPT_EDITS = f"approval mode: {ApprovalMode.accept_edits.value}"


def plan_mode_refuses(invocation: Invocation) -> Decision | None:
    """In plan mode, the refusal of a call that may change something; None if it cannot."""
    reason = _changes(invocation.plan, read_only=invocation.declaration.read_only)
    return None if not reason else Decision(decision="deny", gate="permission", rule=_PLAN, reason=reason)


def _changes(plan: Plan | None, *, read_only: bool) -> str:
    """Why a call may change something; empty if it cannot."""
    if plan is None or read_only:
        return ""  # the gate has let through only tools that change nothing, or whose calls are judged one by one
    if plan.access != "read":
        return "the session is in plan mode, in which only access 'read' is allowed"
    if plan.unconfined:
        return "the session is in plan mode, and the sandbox does not keep this command from changing something"
    if plan.asks:
        return f"the session is in plan mode, and this call is potentially dangerous: {plan.reason}"
    return ""


def accept_edits_allows(invocation: Invocation) -> Decision | None:
    """In the mode that accepts edits, the permission for a write that undo can take back; otherwise None."""
    plan = invocation.plan
    if plan is None or not plan.reversible:
        return None
    if plan.access != "write" or plan.unconfined or plan.once or plan.commands or not plan.resources:
        return None
    if any(part.lower() in RUN_BY_OTHERS for resource in plan.resources for part in resource.split("/")):
        return None
    if (workspace := invocation.context.workspace) is not None:
        from toolgate.sandbox.git.edited_files import git_may_run

        if git_may_run(str(workspace.root), os.path.expanduser("~"), plan.resources):
            return None
    reason = "edits are accepted in this session, and undo can take this one back"
    return Decision(decision="allow", gate="permission", rule=_ACCEPT_EDITS, reason=reason)
