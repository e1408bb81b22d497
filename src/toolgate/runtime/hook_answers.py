"""Answers of hooks: deny, ask, other arguments, context. An answer that cannot be parsed is an error, never a yes."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from toolgate.text.visible import visible

Event = Literal["before_call", "after_call", "approval", "turn_start", "turn_end"]
_MAX_TEXT = 4_000
_DENYING = frozenset({"deny", "block"})


class HookOutcome(NamedTuple):
    """The combined answers of the hooks of one event."""

    denied: str = ""
    """Why the call must not run; empty if no hook denies it."""
    asks: str = ""
    """Why a person must be asked; empty if no hook wants that."""
    arguments: dict[str, Any] | None = None
    """Other arguments for the call."""
    context: str = ""
    """Text for the model, shown with the result."""


class HookError(Exception):
    """A hook failed, did not end in time, or gave an answer that is not valid."""


def text_of(data: bytes) -> str:
    """The output of a command as text, with hidden characters made visible."""
    return visible(data.decode("utf-8", "replace")).strip()


def outcome_of(exit_code: int, stdout: str, stderr: str, event: Event) -> HookOutcome:
    """The answer that a command gives with its exit code and its output. Raises `HookError`."""
    if exit_code == 2:
        reason = _short(stderr or "a hook denied it")
        return HookOutcome(context=reason) if event in ("after_call", "turn_end") else HookOutcome(denied=reason)
    if exit_code != 0:
        raise HookError(f"it ended with exit code {exit_code}: {_short(stderr)}".rstrip(": "))
    if not stdout.startswith("{"):
        return HookOutcome(context=_short(stdout)) if event == "turn_start" else HookOutcome()
    try:
        answer = json.loads(stdout)
    except ValueError:
        raise HookError("what it printed is not JSON") from None
    return parse_answer(answer, event)


def parse_answer(answer: dict[str, Any], event: Event) -> HookOutcome:
    """Parse a hook's answer. Raises `HookError` for one that is not valid, which never counts as a yes."""
    specific = answer.get("hookSpecificOutput", {})
    if not isinstance(specific, dict):
        raise HookError("hookSpecificOutput is not an object")
    decision = specific.get("permissionDecision", answer.get("decision", "allow"))
    reason = specific.get("permissionDecisionReason", answer.get("reason", answer.get("stopReason", "")))
    if decision not in (*_DENYING, "ask", "allow", "approve", "defer") or not isinstance(reason, str):
        raise HookError(f"its decision {str(decision)[:80]!r} is none of allow, ask and deny")
    context, arguments = specific.get("additionalContext", ""), specific.get("updatedInput")
    if not isinstance(context, str) or not isinstance(arguments, dict | None):
        raise HookError("additionalContext must be a text and updatedInput an object")
    if event == "turn_start" and decision == "ask":
        raise HookError("its decision 'ask' is not valid for a turn")
    if event in ("after_call", "turn_end"):
        return HookOutcome(context=_short("\n".join(part for part in (reason, context) if part)))
    if decision in _DENYING or answer.get("continue") is False:
        return HookOutcome(denied=_short(reason) or "a hook denied it")
    asks = (_short(reason) or "a hook wants you to be asked") if decision == "ask" else ""
    return HookOutcome(asks=asks, arguments=arguments if event == "before_call" else None, context=_short(context))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} …"
