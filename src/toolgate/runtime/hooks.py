"""Hooks: commands of the user that see calls before and after they run. They can only make things stricter."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolgate.log import logger
from toolgate.runtime.state import runtime_state
from toolgate.text.visible import visible

if TYPE_CHECKING:
    from toolgate.tools.context import ToolContext

Event = Literal["before_call", "after_call", "approval"]
_EVENTS: dict[str, Event] = {
    "before_call": "before_call",
    "PreToolUse": "before_call",
    "after_call": "after_call",
    "PostToolUse": "after_call",
    "approval": "approval",
    "PermissionRequest": "approval",
}
_THEIRS = {"before_call": "PreToolUse", "after_call": "PostToolUse", "approval": "PermissionRequest"}
_LATER = frozenset(
    {"Notification", "UserPromptSubmit", "Stop", "SubagentStop", "SessionStart", "SessionEnd", "PreCompact"}
)
"""Events of Claude Code that have no counterpart here; their hooks are left out with a warning."""
_LONGEST_TEXT = 4_000
_DENYING = frozenset({"deny", "block"})


class _Handler(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    type: Literal["command"]
    command: str = Field(min_length=1)
    timeout: float = Field(default=60, gt=0, le=600)


class _Group(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    matcher: str = ""
    hooks: list[_Handler]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the hooks of one event said together."""

    denied: str = ""
    """Why the call must not run; empty: nobody objects."""
    asks: str = ""
    """Why a person must be asked; empty: nobody wants that."""
    arguments: dict[str, Any] | None = None
    """Other arguments for the call."""
    context: str = ""
    """What the model is told with the result."""


class HookError(Exception):
    """A hook failed, did not end in time, or said something that is no answer."""


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
        """Run the hooks of an event for a call, one after another; each sees what the one before has changed.

        The first that denies ends it. Before a call, one that fails denies it; after a call, that is logged.
        """
        if self._problem:
            return Outcome(denied=f"the user's hooks.json is not valid: {self._problem}")
        asks, notes, changed = "", list[str](), None
        for handler in self._matching(event, name):
            given = arguments if changed is None else changed
            try:
                said = await _ask(handler, event, name, given, context, more)
            except HookError as error:
                logger("hooks").warning("hook_failed", hook=event, tool_name=name, reason=str(error))
                if event == "after_call":
                    continue
                return Outcome(denied=f"a hook failed: {error}")
            if said.denied:
                return said
            asks, changed = asks or said.asks, said.arguments if said.arguments is not None else changed
            notes += [said.context] if said.context else []
        return Outcome(asks=asks, arguments=changed, context="\n".join(notes))

    def _matching(self, event: Event, name: str) -> list[_Handler]:
        groups = [group for group in self._groups.get(event, []) if _matches(group.matcher, name)]
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


async def _ask(
    handler: _Handler, event: Event, name: str, arguments: Any, context: ToolContext, more: dict[str, Any]
) -> Outcome:
    """What one hook says. Raises `HookError`."""
    from toolgate.process.hook_command import run_hook

    root = "/" if context.workspace is None else str(context.workspace.root)
    document = {
        "hook_event_name": _THEIRS[event],
        "event": event,
        "session_id": context.session_id or "",
        "cwd": root,
        "tool_name": name,
        "tool_input": arguments,
        **more,
    }
    environment = {"CLAUDE_PROJECT_DIR": root, "TOOLGATE_PROJECT_DIR": root}
    try:
        running = asyncio.ensure_future(
            run_hook(
                handler.command,
                json.dumps(document, default=str).encode("utf-8", "replace"),
                timeout=handler.timeout,
                directory=root,
                environment=environment,
            )
        )
        try:
            ended = await asyncio.shield(running)
        finally:
            running.cancel()  # a call that is given up ends its hook; one that has ended is left alone
    except TimeoutError:
        raise HookError(f"it did not end within {handler.timeout:g} s") from None
    except (OSError, ValueError) as error:
        raise HookError(str(error)) from None
    return _outcome(ended.exit_code, _text(ended.stdout), _text(ended.stderr), event)


def _text(data: bytes) -> str:
    return visible(data.decode("utf-8", "replace")).strip()


def _outcome(exit_code: int, stdout: str, stderr: str, event: Event) -> Outcome:
    if exit_code == 2:
        reason = _short(stderr or "a hook denied it")
        return Outcome(context=reason) if event == "after_call" else Outcome(denied=reason)
    if exit_code != 0:
        raise HookError(f"it ended with exit code {exit_code}: {_short(stderr)}".rstrip(": "))
    if not stdout.startswith("{"):
        return Outcome()
    try:
        said = json.loads(stdout)
    except ValueError:
        raise HookError("what it printed is no JSON") from None
    return _said(said, event)


def _said(said: dict[str, Any], event: Event) -> Outcome:
    """Read a hook's answer; what cannot be understood is an error, never a yes."""
    more = said.get("hookSpecificOutput", {})
    if not isinstance(more, dict):
        raise HookError("hookSpecificOutput is no object")
    decision = more.get("permissionDecision", said.get("decision", "allow"))
    reason = more.get("permissionDecisionReason", said.get("reason", said.get("stopReason", "")))
    if decision not in (*_DENYING, "ask", "allow", "approve", "defer") or not isinstance(reason, str):
        raise HookError(f"its decision {str(decision)[:80]!r} is none of allow, ask and deny")
    context, arguments = more.get("additionalContext", ""), more.get("updatedInput")
    if not isinstance(context, str) or not isinstance(arguments, dict | None):
        raise HookError("additionalContext must be a text and updatedInput an object")
    if event == "after_call":
        return Outcome(context=_short("\n".join(part for part in (reason, context) if part)))
    if decision in _DENYING or said.get("continue") is False:
        return Outcome(denied=_short(reason) or "a hook denied it")
    asks = (_short(reason) or "a hook wants you to be asked") if decision == "ask" else ""
    return Outcome(asks=asks, arguments=arguments if event == "before_call" else None, context=_short(context))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"
