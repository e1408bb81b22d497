"""Applies the user's policy file to the toolsets of other frameworks."""

from __future__ import annotations

from toolgate.runtime.state import runtime_state
from toolgate.runtime.toolset import CallableToolset
from toolgate.settings import policy_file_in_force


def under_users_policy(toolset: CallableToolset) -> CallableToolset:
    """Return the toolset with the policy file of the user who runs the program.

    A context without settings has no such policy, because the library reads no environment. An adapter is a user
    interface like the command line, where the user's rules apply. A context with settings is returned unchanged.
    """
    context = toolset.context
    if context.has_settings:
        return toolset
    settings = context.settings.model_copy(update={"policy_file": policy_file_in_force()})
    runtime_state(context).policy = None  # it was loaded without the user's rules
    return CallableToolset(toolset.registry, context.derive(_settings=settings, has_settings=True))
