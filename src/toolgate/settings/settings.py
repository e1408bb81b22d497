"""All areas together: `Settings`, where it is read from, and what its variables are called."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from toolgate.errors import ConfigError
from toolgate.language.choice import LanguageSetting
from toolgate.protocol.unvalidated import fill, trusted
from toolgate.settings.area import Area
from toolgate.settings.local import (
    AgentSettings,
    DatabaseSettings,
    ModelSettings,
    SessionSettings,
    ShellSettings,
    ToolOutputSettings,
    WorkspaceSettings,
)
from toolgate.settings.optional import DiagnosticsSettings, WebSettings
from toolgate.settings.problems import misspelt, problems_of
from toolgate.settings.served import DistributedSettings, GatewaySettings, LimitSettings
from toolgate.userfiles import (
    VARIABLE,
    read_config_file,
    users_config,
    users_data,
    users_directory,
    users_policy,
    users_servers,
)


class _TopLevelSettings(Area):
    """The settings that belong to no area."""

    variable_prefix = "TOOLGATE_"

    policy_file: Path | None = None
    mcp_config: Path | None = None
    language: LanguageSetting = "auto"

    @field_validator("policy_file", "mcp_config", mode="before")
    @classmethod
    def _not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        return _named(value, info)


def _named(value: Any, info: ValidationInfo) -> Any:
    """A file's name; an empty one would be the current directory."""
    if value == "":
        kind = "TOML" if info.field_name == "policy_file" else "JSON"
        raise ValueError(f"is empty. Unset it for the default place, or set it to a {kind} file")
    return value


AREAS: dict[str, type[Area]] = {
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
    "web": WebSettings,
    "diagnostics": DiagnosticsSettings,
}
"""Field of `Settings` → the model of that area."""

READ: dict[str, type[Area]] = {**AREAS, "": _TopLevelSettings}
"""Table of the config file (the empty name: outside of all tables) → the model that reads it."""


class Settings(BaseModel):
    """All settings: one field per area."""

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
    web: WebSettings
    diagnostics: DiagnosticsSettings
    policy_file: Path | None
    """The user's policy; unset, `toolgate/policy.toml` in the user's config directory."""
    mcp_config: Path | None = None
    """The MCP servers whose tools are used; unset, `toolgate/mcp.json` in the user's config directory."""
    language: LanguageSetting = "auto"
    """The language of the page, the chat and the commands; `auto`: that of the browser or of the terminal."""
    config_file: Path | None = None
    """Where the config file is looked for; None if none was."""
    user_directory: Path | None = None
    """The user's own skills, commands and hooks: `toolgate` in the user's config directory; None if there is none."""
    data_directory: Path | None = None
    """Where the runtime keeps the gateway's token and more: `toolgate` in the user's data directory."""

    @field_validator("policy_file", "mcp_config", mode="before")
    @classmethod
    def _not_empty(cls, value: Any, info: ValidationInfo) -> Any:
        return _named(value, info)

    def __init__(self, **given: Any) -> None:
        """Read what is not given: from the environment, then from the config file."""
        if not given:
            fill(self, _read(given))  # every area has checked its own
            return
        if not {*AREAS, "policy_file"} <= given.keys():
            given = {**_read(given), **given}
        super().__init__(**given)

    @classmethod
    def load(cls, **given: Any) -> Self:
        """Read the environment and the user's config file; what is given takes precedence over both."""
        return cls(**given)

    @classmethod
    def defaults(cls) -> Self:
        """The defaults of every area, whatever the environment and the config file say."""
        areas = {name: area.model_construct() for name, area in AREAS.items()}
        return trusted(
            cls,
            {
                **areas,
                "policy_file": None,
                "mcp_config": None,
                "language": "auto",
                "config_file": None,
                "user_directory": None,
                "data_directory": None,
            },
        )

    @classmethod
    def of(cls, **given: Any) -> Self:
        """The defaults with these areas (or tables of their values) and files.

        The environment and the config file are not read, so there is no user's policy unless `policy_file` is given.
        Raises `ConfigError` for an unknown name or a wrong value.
        """
        problems = list[str]()
        for name, value in given.items():
            if name in AREAS and isinstance(value, Mapping):
                try:
                    given = {**given, name: AREAS[name].of(value)}
                except ValidationError as error:
                    problems += problems_of(error, AREAS[name].model_fields, name)
        try:
            if not problems:
                return cls.defaults().model_copy(update=given)
        except ValidationError as error:
            problems = problems_of(error, cls.model_fields)
        raise ConfigError(problems) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other areas or files; unlike pydantic's own, it validates them and refuses unknown names."""
        return self._validated({**self.__dict__, **update}) if update else super().model_copy(deep=deep)

    def checked(self) -> Self:
        """These settings, validated, however they were made. Code that is given settings uses the returned ones."""
        return self._validated(self.__dict__)

    def _validated(self, values: dict[str, Any]) -> Self:
        areas = {name: _area(model, values.get(name)) for name, model in AREAS.items()}
        whole = {**values, **areas}
        known = whole.keys() == type(self).model_fields.keys()
        if (
            not known
            or not all(isinstance(area, AREAS[name]) for name, area in areas.items())
            or not _has_valid_types(whole)
        ):
            type(self).model_rebuild()
            fresh = type(self).__new__(type(self))
            return cast("Self", self.__pydantic_validator__.validate_python(whole, self_instance=fresh))
        if all(self.__dict__.get(name) is value for name, value in whole.items()):
            return self
        return trusted(type(self), whole)


def _area(model: type[Area], value: Any) -> Any:
    """An area, validated. A value of another type is returned unchanged; `Settings` then refuses it."""
    if isinstance(value, model):
        return value.checked()
    return model.of(value) if isinstance(value, Mapping) else value


def _has_valid_types(values: Mapping[str, Any]) -> bool:
    """Whether the settings outside areas have the right types, so that they need no validation."""
    files = [values[name] for name in ("policy_file", "mcp_config", "config_file", "user_directory", "data_directory")]
    return values["language"] in get_args(LanguageSetting) and all(f is None or isinstance(f, Path) for f in files)


def policy_file_in_force() -> Path | None:
    """The user's policy file, as the environment and the config file name it."""
    found: Path | None = _read(AREAS)["policy_file"]
    return found


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    file, values = read_config_file(os.environ), dict[str, dict[str, Any]]()
    if file is not None and file.values:
        from toolgate.config import configured

        values = configured(file, READ, variable, os.environ)
    present = {name.upper() for name in os.environ}
    if (unknown := unknown_variables(present)) and (problems := misspelt(unknown, variables())):
        raise ConfigError(problems)
    read: dict[str, Any] = {
        name: _one(model, values.get(name, {}), present) for name, model in AREAS.items() if name not in given
    }
    top_level = _one(_TopLevelSettings, values.get("", {}), present)
    return {
        **read,
        "policy_file": top_level.policy_file or users_policy(os.environ),
        "mcp_config": top_level.mcp_config or users_servers(os.environ),
        "language": top_level.language,
        "config_file": users_config(os.environ),
        "user_directory": users_directory(os.environ),
        "data_directory": users_data(os.environ),
    }


def _one(model: type[Area], values: dict[str, Any], present: set[str]) -> Any:
    """One area. If nothing is set, its defaults without validation, because building the validator takes time."""
    if not values and not any(variable(model, name) in present for name in model.model_fields):
        return model.model_construct()
    return model(**values)


def unknown_variables(names: Iterable[str]) -> set[str]:
    """The environment variables that are named like settings, and are none."""
    like = {name for name in names if name.startswith(("TOOLGATE_", "TOOL_OUTPUT_"))}
    return like - variables() - {"TOOLGATE_TORTURE"} if like else like


def variables() -> frozenset[str]:
    """The name of every environment variable that is read."""
    return frozenset(variable(area, name) for area in READ.values() for name in area.model_fields) | {VARIABLE}


def variable(area: type[Area], name: str) -> str:
    """The environment variable of a field."""
    return area.variable(name)


def explain(error: ValidationError) -> list[str]:
    """The errors of the environment, one line per variable, each with what to set."""
    prefixes = {area.__name__: area.variable_prefix for area in READ.values()}
    prefix = prefixes.get(error.title, "")
    lines = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        name = "_".join(str(part) for part in problem["loc"][:1])
        lines.append(f"{prefix}{name}".upper() + ": " + problem["msg"].removeprefix("Value error, "))
    return lines
