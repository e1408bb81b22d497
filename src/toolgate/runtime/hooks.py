"""Hooks of the user: they run before and after turns and calls. They can deny, ask and add, but never allow."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from toolgate.log import logger
from toolgate.runtime.claude_names import claude_name, claude_paths, own_arguments
from toolgate.runtime.hook_answers import Event, HookError, HookOutcome

if TYPE_CHECKING:
    from toolgate.runtime.hook_handlers import CommandHook, EntryPointHook, HookGroup
    from toolgate.tools.context import ToolContext

_CLAUDE_EVENTS: dict[Event, str] = {
    "before_call": "PreToolUse",
    "after_call": "PostToolUse",
    "approval": "PermissionRequest",
    "turn_start": "UserPromptSubmit",
    "turn_end": "Stop",
}
"""Our events → the names that Claude Code has for them."""
_EVENTS: dict[str, Event] = {name: event for event, alias in _CLAUDE_EVENTS.items() for name in (event, alias)}
_UNSUPPORTED = frozenset(
    """
    Notification SubagentStart SubagentStop SessionStart SessionEnd PreCompact PostCompact PostToolUseFailure
    StopFailure PermissionDenied Setup InstructionsLoaded ConfigChange CwdChanged FileChanged WorktreeCreate
    WorktreeRemove TaskCreated TaskCompleted TeammateIdle Elicitation ElicitationResult
    """.split()
)
"""Events of Claude Code that have no counterpart here; their hooks are left out with a warning."""
_TOO_LATE = ("after_call", "turn_end")
"""Events that come too late to deny anything. A hook of these that fails is only logged."""


class Hooks:
    """The hooks of a user, or why they cannot be used: then every call is denied."""

    def __init__(self, groups: dict[Event, list[HookGroup]], problem: str = "") -> None:
        self._groups = groups
        self._problem = problem

    @classmethod
    def read(cls, text: str) -> Hooks:
        """The hooks of a file in the form of Claude Code's settings."""
        try:
            document = json.loads(text)
            events = document["hooks"] if isinstance(document, dict) else None
            if not isinstance(events, dict):
                raise ValueError('it needs an object "hooks"')
            found: dict[Event, list[HookGroup]] = {}
            for name, groups in events.items():
                if name in _UNSUPPORTED:
                    logger("hooks").warning("hook_event_not_supported", hook=name)
                    continue
                if name not in _EVENTS:
                    raise ValueError(f"there is no event {name!r}; the events are {', '.join(sorted(_EVENTS))}")
                found.setdefault(_EVENTS[name], []).extend(_group(group) for group in groups)
            return cls(found)
        except ValidationError as error:
            first = error.errors()[0]
            return cls({}, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except (ValueError, KeyError, TypeError, re.error, RecursionError) as error:
            return cls({}, str(error) or type(error).__name__)

    def concerns(self, event: Event) -> bool:
        """Whether there is a hook for this event, or a problem that denies every call."""
        return bool(self._problem or self._groups.get(event))

    async def run(self, event: Event, name: str, arguments: Any, context: ToolContext, **more: Any) -> HookOutcome:
        """Run the hooks of an event, one after another; each sees what the one before has changed.

        A call has a `name` and `arguments`, a turn neither. The first that denies ends it. Before a call or a turn, one
        that fails denies it; afterwards, that is logged.
        """
        if self._problem:
            return HookOutcome(denied=f"the user's hooks.json is not valid: {self._problem}")
        asks, notes, given = "", list[str](), arguments
        for handler, alias in self._matching(event, name):
            for path in claude_paths(name, given, context.workspace) if alias else [{}]:
                shown = {**given, **path} if path else given
                try:
                    outcome = await handler.ask(event, _document(event, alias or name, shown, context, more))
                except HookError as error:
                    logger("hooks").warning("hook_failed", hook=event, tool_name=name, reason=str(error))
                    if event in _TOO_LATE:
                        continue
                    return HookOutcome(denied=f"a hook failed: {error}")
                if outcome.denied:
                    return outcome
                asks = asks or outcome.asks
                if outcome.arguments is not None:
                    given = own_arguments(name, outcome.arguments, shown) if alias else outcome.arguments
                notes += [outcome.context] if outcome.context else []
        changed = None if given is arguments else given
        return HookOutcome(asks=asks, arguments=changed, context="\n".join(notes))

    def _matching(self, event: Event, name: str) -> list[tuple[CommandHook | EntryPointHook, str]]:
        """The hooks of an event, each with the tool's name in Claude Code if its matcher uses that name; else empty."""
        found = []
        for group in self._groups.get(event, []):
            is_ours = not name or _matches(group.matcher, name)
            alias = "" if is_ours else claude_name(group.matcher, name)
            if is_ours or alias:
                found += [(handler, alias) for handler in group.hooks]
        return found


def _group(value: Any) -> HookGroup:
    from toolgate.runtime.hook_handlers import HookGroup  # most users have no hooks

    group = HookGroup.model_validate(value)
    re.compile(group.matcher if group.matcher != "*" else "")
    return group


def _matches(matcher: str, name: str) -> bool:
    return matcher in ("", "*") or re.fullmatch(matcher, name) is not None


def _document(event: Event, name: str, arguments: Any, context: ToolContext, more: dict[str, Any]) -> dict[str, Any]:
    """The document that a hook gets."""
    root = "/" if context.workspace is None else str(context.workspace.root)
    call = {"tool_name": name, "tool_input": arguments} if name else {}
    session = {"session_id": context.session_id or "", "cwd": root}
    return {"hook_event_name": _CLAUDE_EVENTS[event], "event": event, **session, **call, **more}
