"""Settings: one model an area, each read from the environment under its own prefix and from the user's config file.

Only the composition root and the CLI read them; everything else is handed a `Settings`. `Settings()` reads the
environment and, for what that does not say, the config file; `Settings.defaults()` and `Settings.of(…)` read nothing.
"""

from toolgate.settings.local import (
    AgentSettings,
    DatabaseSettings,
    Direction,
    ModelSettings,
    Sandbox,
    SessionSettings,
    ShellSettings,
    ToolOutputSettings,
    WorkspaceSettings,
)
from toolgate.settings.served import DistributedSettings, GatewaySettings, LimitSettings, users_and_tokens
from toolgate.settings.whole import AREAS, READ, Settings, explain, policy_file_in_force, variable, variables

__all__ = [
    "AREAS",
    "READ",
    "AgentSettings",
    "DatabaseSettings",
    "Direction",
    "DistributedSettings",
    "GatewaySettings",
    "LimitSettings",
    "ModelSettings",
    "Sandbox",
    "SessionSettings",
    "Settings",
    "ShellSettings",
    "ToolOutputSettings",
    "WorkspaceSettings",
    "explain",
    "policy_file_in_force",
    "users_and_tokens",
    "variable",
    "variables",
]
