"""Where the hooks of a context come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.runtime.state import runtime_state

if TYPE_CHECKING:
    from pathlib import Path

    from toolgate.runtime.hooks import Hooks
    from toolgate.tools.context import ToolContext


def hooks_of(context: ToolContext) -> Hooks | None:
    """The hooks of the user whose settings a context has; None if there are none. Read once per session.

    They come from the user's config directory only: a project has no say.
    """
    if not context.has_settings or context.settings.user_directory is None:
        return None
    state = runtime_state(context)
    if not state.hooks_read:
        state.hooks, state.hooks_read = _load(context.settings.user_directory / "hooks.json"), True
    return state.hooks


def _load(path: Path) -> Hooks | None:
    from toolgate.workspace.user_config import read_config

    problem = ""
    try:
        text = read_config(path)
    except (OSError, ValueError) as error:
        text, problem = "", error.strerror or "it cannot be read" if isinstance(error, OSError) else str(error)
    if text is None:
        return None
    from toolgate.runtime.hooks import Hooks  # most users have no hooks

    return Hooks({}, problem) if problem else Hooks.read(text)
