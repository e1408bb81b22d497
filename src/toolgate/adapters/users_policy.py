"""Other people's frameworks under the user's policy."""

from __future__ import annotations

from toolgate.runtime.toolset import CallableToolset
from toolgate.settings import policy_file_in_force


def under_users_policy(toolset: CallableToolset) -> CallableToolset:
    """The toolset, under the policy file of the user who runs the program.

    A context that was made without settings has none: the library reads no environment. A bridge is a surface like the
    command line, where the user's rules hold. Settings that were handed over are kept, also those that name no policy.
    """
    context = toolset.context
    if context.has_settings:
        return toolset
    settings = context.settings.model_copy(update={"policy_file": policy_file_in_force()})
    context.shared.pop("policy", None)  # loaded without the user's rules
    return CallableToolset(toolset.registry, context.derive(_settings=settings, has_settings=True))
