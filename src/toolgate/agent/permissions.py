"""What a session may do without asking, as its person wants it now: brought from the store to the gates."""

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
    """Read what the person wants now, and tell the gates. Raises the store's errors."""
    apply(context, await sessions.permissions(session_id, project))


def apply(context: ToolContext, found: SessionPermissions) -> None:
    """Tell the gates of a context what the session may do without asking."""
    context.approval_mode = found.approval_mode
    if not found.permissions and runtime_state(context).policy is None:
        return  # nothing to add, and the policy is not needed yet
    refresh_policy(context)
    policy = policy_of(context)
    policy.replace_session_rules(tuple(rule for permission in found.permissions for rule in _rules(permission)))
    if not context.agent:  # what a sub-agent was allowed is known to its own policy only
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
