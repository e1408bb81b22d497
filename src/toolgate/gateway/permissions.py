"""Stores the answers of clients to approval requests, and lists and removes the permissions that are remembered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from toolgate.errors import SessionBusy, StoreError
from toolgate.log import logger
from toolgate.protocol.approval import Approval
from toolgate.protocol.modes import ApprovalMode

if TYPE_CHECKING:
    from toolgate.gateway.service import Service
    from toolgate.protocol.requests import ApprovalRespond

_TIMEOUT = 15.0
"""Seconds for which an answer waits for an unavailable database. A turn may wait for this answer for days."""
_RETRY_SECONDS = 0.5
"""Seconds before an unavailable database is tried again."""


class AnswerInvalid(ValueError):
    """The parts of an answer contradict each other; the message says what to send instead."""


def approval_of(params: ApprovalRespond, message: str, text: str) -> Approval:
    """Return a request's parameters as an `Approval`. Raises `AnswerInvalid`."""
    if params.choice is not None and not (params.remember and params.allowed):
        raise AnswerInvalid("A choice needs allowed: true and remember: true.")
    if params.scope is not None and params.choice is None:
        raise AnswerInvalid("A scope needs a choice.")
    return Approval(
        allowed=params.allowed,
        message=message,
        remember=params.remember and params.allowed,
        choice=params.choice,
        scope=params.scope or "session",
        approval_mode=None if params.approval_mode is None else ApprovalMode(params.approval_mode),
        text=text,
    )


async def store_answer(service: Service, approval_id: str, answer: Approval, user: str) -> bool:
    """Store a user's answer; return False if there is no such request, or if another answer was first.

    A short outage of the database loses no answer. Raises `StoreError` if it lasts longer, and `ChoiceNotOffered`.
    """
    if answer.scope == "project" and service.is_shared:
        raise AnswerInvalid("This gateway has several users, and its policy file is one person's: use scope 'session'.")
    loop = asyncio.get_running_loop()
    deadline, failed = loop.time() + _TIMEOUT, False
    while True:
        try:
            if await service.sessions.decide(approval_id, answer, user=user):
                return True
            return failed and await _is_stored(service, approval_id, answer, user)
        except (StoreError, SessionBusy) as error:
            if loop.time() >= deadline:
                raise
            failed = True
            logger("gateway").info("answer_not_stored", error=type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)


async def _is_stored(service: Service, approval_id: str, answer: Approval, user: str) -> bool:
    """Whether the answer counts: an attempt may have stored it although its connection broke."""
    row = await service.sessions.approval(approval_id)
    if row is None or (await service.sessions.get(row.session_id)).user != user:
        return False
    return (row.state, row.message) == ("allowed" if answer.allowed else "denied", answer.message)


async def list_permissions(service: Service, session_id: str) -> list[dict[str, Any]]:
    """Return the permissions that are remembered for a session and for its project. Raises `PolicyError`."""
    from toolgate.runtime.project_rules import project_rules

    found = await service.sessions.permissions(session_id)
    rules = [
        {
            "id": permission.id,
            "label": permission.label if permission.choice != "call" else f"{permission.label}: {permission.summary}",
            "rule": permission.rule,
            "scope": "session",
            "created_at": permission.created_at,
        }
        for permission in found.permissions
    ]
    if service.policy_file is not None and not service.is_shared:
        for rule in await asyncio.to_thread(project_rules, service.policy_file, service.root):
            about = {"id": rule.id, "label": rule.label, "rule": rule.rule}
            rules.append({**about, "scope": "project", "created_at": rule.created_at})
    return rules


async def remove_permission(service: Service, session_id: str, permission_id: str) -> bool:
    """Remove a permission; return False if there is no such permission. Raises `PolicyError`."""
    from toolgate.runtime.project_rules import remove_rule

    if await service.sessions.remove_permission(session_id, permission_id):
        return True
    if service.policy_file is None or service.is_shared or not permission_id.startswith("project-"):
        return False
    return await asyncio.to_thread(remove_rule, service.policy_file, service.root, permission_id)
