"""Settings: one model per area, read from environment variables and the user's config file.

Lives here: every setting, its default and its check. The values of a choice are in `protocol/choices.py`.
May touch: the environment, and the config file through `userfiles.py`. Rooms below `compose.py` get a `Settings`.
Start reading: `settings.py` (`Settings`), then `local.py` (areas of one agent) and `served.py` (areas of a server).
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
from toolgate.settings.optional import DiagnosticsSettings, WebSettings
from toolgate.settings.served import DistributedSettings, GatewaySettings, LimitSettings, users_and_tokens
from toolgate.settings.settings import (
    AREAS,
    READ,
    Settings,
    explain,
    policy_file_in_force,
    unknown_variables,
    variable,
    variables,
)

__all__ = [
    "AREAS",
    "READ",
    "AgentSettings",
    "DatabaseSettings",
    "DiagnosticsSettings",
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
    "WebSettings",
    "WorkspaceSettings",
    "explain",
    "policy_file_in_force",
    "unknown_variables",
    "users_and_tokens",
    "variable",
    "variables",
]
