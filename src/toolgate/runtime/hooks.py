"""Hooks of the user: they see turns and calls, before and after they run. They can only make things stricter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolgate.log import logger
from toolgate.runtime.hook_answers import Event, HookError, Outcome
from toolgate.runtime.hook_handlers import CommandHook, EntryPointHook
from toolgate.runtime.state import runtime_state

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext

_THEIRS: dict[Event, str] = {
    "before_call": "PreToolUse",
    "after_call": "PostToolUse",
    "approval": "PermissionRequest",
    "turn_start": "UserPromptSubmit",
    "turn_end": "Stop",
}
"""Our events, and what Claude Code calls them."""
_EVENTS: dict[str, Event] = {name: event for event, theirs in _THEIRS.items() for name in (event, theirs)}
_LATER = frozenset({"Notification", "SubagentStop", "SessionStart", "SessionEnd", "PreCompact"})
"""Events of Claude Code that have no counterpart here; their hooks are left out with a warning."""
_AFTERWARDS = ("after_call", "turn_end")
"""Events that come too late to deny anything: a hook that fails is only logged."""

_Handler = Annotated[CommandHook | EntryPointHook, Field(discriminator="type")]


class _Group(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    matcher: str = ""
    hooks: list[_Handler]


class Hooks:
    """The hooks of a user, or why they cannot be used: then every call is denied."""

    def __init__(self, groups: dict[Event, list[_Group]], problem: str = "") -> None:
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
            found: dict[Event, list[_Group]] = {}
            for name, groups in events.items():
                if name in _LATER:
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
        """Whether there is anything to run, or to refuse."""
        return bool(self._problem or self._groups.get(event))

    async def run(self, event: Event, name: str, arguments: Any, context: ToolContext, **more: Any) -> Outcome:
        """Run the hooks of an event, one after another; each sees what the one before has changed.

        A call has a `name` and `arguments`, a turn neither. The first that denies ends it. Before a call or a turn, one
        that fails denies it; afterwards, that is logged.
        """
        if self._problem:
            return Outcome(denied=f"the user's hooks.json is not valid: {self._problem}")
        asks, notes, changed = "", list[str](), None
        for handler in self._matching(event, name):
            given = arguments if changed is None else changed
            try:
                said = await handler.ask(event, _document(event, name, given, context, more))
            except HookError as error:
                logger("hooks").warning("hook_failed", hook=event, tool_name=name, reason=str(error))
                if event in _AFTERWARDS:
                    continue
                return Outcome(denied=f"a hook failed: {error}")
            if said.denied:
                return said
            asks, changed = asks or said.asks, said.arguments if said.arguments is not None else changed
            notes += [said.context] if said.context else []
        return Outcome(asks=asks, arguments=changed, context="\n".join(notes))

    def _matching(self, event: Event, name: str) -> list[CommandHook | EntryPointHook]:
        groups = [group for group in self._groups.get(event, []) if not name or _matches(group.matcher, name)]
        return [handler for group in groups for handler in group.hooks]


def hooks_of(context: ToolContext) -> Hooks | None:
    """The hooks of the user whose settings a context has; None if there are none. Read once per session.

    They come from the user's config directory only: a project has no say.
    """
    if not context.has_settings or context.settings.user_directory is None:
        return None
    state = runtime_state(context)
    if not state.hooks_read:
        state.hooks, state.hooks_read = _load(context.settings.user_directory / "hooks.json"), True
    found = state.hooks
    return found if isinstance(found, Hooks) else None


def _load(path: Path) -> Hooks | None:
    from toolgate.workspace.user_config import read_config

    try:
        text = read_config(path)
    except (OSError, ValueError) as error:
        return Hooks({}, error.strerror or "it cannot be read" if isinstance(error, OSError) else str(error))
    return None if text is None else Hooks.read(text)


def _group(value: Any) -> _Group:
    group = _Group.model_validate(value)
    re.compile(group.matcher if group.matcher != "*" else "")
    return group


def _matches(matcher: str, name: str) -> bool:
    return matcher in ("", "*") or re.fullmatch(matcher, name) is not None


def _document(event: Event, name: str, arguments: Any, context: ToolContext, more: dict[str, Any]) -> dict[str, Any]:
    """What a hook is told."""
    root = "/" if context.workspace is None else str(context.workspace.root)
    call = {"tool_name": name, "tool_input": arguments} if name else {}
    session = {"session_id": context.session_id or "", "cwd": root}
    return {"hook_event_name": _THEIRS[event], "event": event, **session, **call, **more}
