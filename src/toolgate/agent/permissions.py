"""Copies the permissions of a session (approval mode, remembered answers) from the store to its context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.errors import PolicyError
from toolgate.log import logger
from toolgate.runtime.policy_source import policy_of, refresh_policy
from toolgate.runtime.state import runtime_state

if TYPE_CHECKING:
    from toolgate.runtime.policy import Rule
    from toolgate.sessions import Permission, SessionPermissions, SessionStore
    from toolgate.tools.context import ToolContext


async def refresh(context: ToolContext, sessions: SessionStore, session_id: str, project: str | None) -> None:
    """Read the permissions from the store and apply them. Raises the store's errors."""
    apply(context, await sessions.permissions(session_id, project))


def apply(context: ToolContext, found: SessionPermissions) -> None:
    """Set the approval mode of a context, and the rules of its policy."""
    context.approval_mode = found.approval_mode
    if not found.permissions and runtime_state(context).policy is None:
        return  # nothing to add, and the policy is not needed yet
    refresh_policy(context)
    policy = policy_of(context)
    policy.replace_session_rules(tuple(rule for permission in found.permissions for rule in _rules(permission)))
    if not context.agent:  # a sub-agent keeps the calls that it was allowed in its own policy
        policy.replace_remembered(
            permission.fingerprint for permission in found.permissions if permission.choice == "call"
        )


def _rules(permission: Permission) -> tuple[Rule, ...]:
    """The rules of a permission; one that cannot be read allows nothing."""
    if permission.choice == "call":
        return ()
    from toolgate.protocol.approval import ApprovalChoice
    from toolgate.runtime.policy.offers import rules_of

    try:
        return rules_of(ApprovalChoice(id=permission.choice, label=permission.label, rule=permission.rule))
    except PolicyError as error:
        logger("agent").warning("permission_not_read", permission=permission.id, error=str(error))
        return ()
