"""Runs the user's hooks of a turn: before the model is asked, and when the turn has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.errors import ToolgateError
from toolgate.runtime.hook_source import hooks_of

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext


class TurnDenied(ToolgateError):
    """A hook of the user denies the turn, or failed."""


async def turn_started(context: ToolContext, turn_id: str, prompt: str) -> str:
    """Run the hooks and return what they add for the model. Raises `TurnDenied`. Turns of sub-agents have no hooks."""
    hooks = None if context.agent else hooks_of(context)
    if hooks is None or not hooks.concerns("turn_start"):
        return ""
    outcome = await hooks.run("turn_start", "", None, context, turn_id=turn_id, prompt=prompt)
    if outcome.denied:
        raise TurnDenied(f"A hook of the user denied this turn: {outcome.denied.rstrip('.')}.")
    return f"[A hook of the user: {outcome.context}]" if outcome.context else ""


async def turn_ended(context: ToolContext, turn_id: str, status: str, code: str, text: str) -> None:
    """Tell hooks how a turn ended. They change nothing."""
    hooks = None if context.agent else hooks_of(context)
    if hooks is None or not hooks.concerns("turn_end"):
        return
    payload = {"status": status, "code": code, "last_assistant_message": text[:50_000], "stop_hook_active": False}
    await hooks.run("turn_end", "", None, context, turn_id=turn_id, **payload)
