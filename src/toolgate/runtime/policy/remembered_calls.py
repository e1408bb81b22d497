"""Calls that a person allowed for the rest of a session: each one exactly as it was planned and shown."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan

_MAX_SHOWN = 4000


def fingerprint(tool_name: str, arguments: dict[str, Any], plan: Plan | None) -> str:
    """The hash of the call and, where there is one, of everything in its plan: the same in every process.

    An approval request has it, too, so that a remembered answer is found again in the store.
    """
    if plan is not None:
        return plan.fingerprint(tool_name, arguments)
    document = json.dumps([tool_name, arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(document.encode()).hexdigest()


def describe(tool_name: str, arguments: dict[str, Any], fingerprint: str) -> str:
    """The remembered call as a person reads it. Control characters are escaped, and long arguments are shortened."""
    text = json.dumps(arguments, sort_keys=True)
    if len(text) > _MAX_SHOWN:
        half = _MAX_SHOWN // 2
        text = f"{text[:half]} […{len(text) - 2 * half} characters…] {text[-half:]}"
    return f"session: allow exactly {tool_name} {text}, planned as now (sha256 {fingerprint[:16]}…)"
