"""All areas together: `Settings`, where it is read from, and what its variables are called."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from toolgate.protocol.fast import fill, trusted
from toolgate.settings.area import area
from toolgate.settings.local import (
    AgentSettings,
    DatabaseSettings,
    ModelSettings,
    SessionSettings,
    ShellSettings,
    ToolOutputSettings,
    WorkspaceSettings,
)
from toolgate.settings.served import DistributedSettings, GatewaySettings, LimitSettings
from toolgate.userfiles import VARIABLE, read_config_file, users_config, users_policy, users_servers


class _PolicyFile(BaseSettings):
    """The files that stand alone."""

    model_config = area("TOOLGATE_")

    policy_file: Path | None = None
    mcp_config: Path | None = None

    @field_validator("policy_file", "mcp_config", mode="before")
    @classmethod
    def _not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if value == "":
            kind = "TOML" if info.field_name == "policy_file" else "JSON"
            raise ValueError(f"is empty. Unset it for the default place, or set it to a {kind} file")
        return value


AREAS: dict[str, type[BaseSettings]] = {
    "session": SessionSettings,
    "tool_output": ToolOutputSettings,
    "workspace": WorkspaceSettings,
    "gateway": GatewaySettings,
    "shell": ShellSettings,
    "database": DatabaseSettings,
    "model": ModelSettings,
    "agent": AgentSettings,
    "distributed": DistributedSettings,
    "limits": LimitSettings,
}
"""Field of `Settings` → the model of that area."""

READ: dict[str, type[BaseSettings]] = {**AREAS, "": _PolicyFile}
"""Table of the config file (the empty name: outside of all tables) → the model that reads it."""


class Settings(BaseModel):
    """Everything that can be set, an area a field."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    session: SessionSettings
    tool_output: ToolOutputSettings
    workspace: WorkspaceSettings
    gateway: GatewaySettings
    shell: ShellSettings
    database: DatabaseSettings
    model: ModelSettings
    agent: AgentSettings
    distributed: DistributedSettings
    limits: LimitSettings
    policy_file: Path | None
    """The user's policy; unset, `toolgate/policy.toml` in the user's config directory."""
    mcp_config: Path | None = None
    """The MCP servers whose tools are used; unset, `toolgate/mcp.json` in the user's config directory."""
    config_file: Path | None = None
    """Where the config file is looked for; None if none was."""

    def __init__(self, **given: Any) -> None:
        """What is not given is read: the environment first, then the config file."""
        if not given:
            fill(self, _read(given))  # every area has checked its own
            return
        if not {*AREAS, "policy_file"} <= given.keys():
            given = {**_read(given), **given}
        super().__init__(**given)

    @classmethod
    def defaults(cls) -> Self:
        """The defaults of every area, whatever the environment and the config file say."""
        areas = {name: area.model_construct() for name, area in AREAS.items()}
        return trusted(cls, {**areas, "policy_file": None, "mcp_config": None, "config_file": None})


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    file, values = read_config_file(os.environ), dict[str, dict[str, Any]]()
    if file is not None and file.values:
        from toolgate.config import configured

        values = configured(file, READ, os.environ)
    present = {name.upper() for name in os.environ}
    read: dict[str, Any] = {
        name: _one(model, values.get(name, {}), present) for name, model in AREAS.items() if name not in given
    }
    loose = _one(_PolicyFile, values.get("", {}), present)
    return {
        **read,
        "policy_file": loose.policy_file or users_policy(os.environ),
        "mcp_config": loose.mcp_config or users_servers(os.environ),
        "config_file": users_config(os.environ),
    }


def _one(model: type[BaseSettings], values: dict[str, Any], present: set[str]) -> Any:
    """One area; where nobody has set anything, its defaults as they stand there, without working out how to check."""
    if not values and not any(variable(model, name) in present for name in model.model_fields):
        return model.model_construct()
    return model(**values)


def variables() -> frozenset[str]:
    """The name of every environment variable that is read."""
    return frozenset(variable(area, name) for area in READ.values() for name in area.model_fields) | {VARIABLE}


def variable(area: type[BaseSettings], name: str) -> str:
    """The environment variable of a field."""
    return f"{area.model_config['env_prefix']}{name}".upper()


def explain(error: ValidationError) -> list[str]:
    """What is wrong with the environment, one line a variable, each naming what to set."""
    prefixes = {area.__name__: area.model_config["env_prefix"] for area in READ.values()}
    prefix = prefixes.get(error.title, "")
    lines = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        name = "_".join(str(part) for part in problem["loc"][:1])
        lines.append(f"{prefix}{name}".upper() + ": " + problem["msg"].removeprefix("Value error, "))
    return lines
