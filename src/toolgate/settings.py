"""Settings: one model an area, each read from the environment under its own prefix and from the user's config file.

Only the composition root and the CLI read them; everything else is handed a `Settings`. `Settings()` reads the
environment and, for what that does not say, the config file; `Settings.defaults()` reads nothing.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from toolgate.protocol.modes import ToolMode
from toolgate.userfiles import VARIABLE, read_config_file, users_config, users_database, users_policy, users_servers

Direction = Literal["head", "tail", "head_tail"]
Sandbox = Literal["auto", "bwrap", "landlock", "off"]
_SYSTEM = frozenset(["", "bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr"])


def _area(prefix: str) -> SettingsConfigDict:
    """Frozen, and without the offending value in error messages, because some of the values are secrets."""
    return SettingsConfigDict(env_prefix=prefix, frozen=True, extra="forbid", hide_input_in_errors=True)


class SessionSettings(BaseSettings):
    """Sessions and the stage that modes are in."""

    model_config = _area("SESSION_")

    default_mode: ToolMode = ToolMode.chat_safe
    """The mode of a new session. Only `chat_safe` is accepted (ADR 0025)."""
    coding_enabled: bool = False
    """The operator's switch: whether a session may be created in `coding`."""

    @field_validator("default_mode", mode="before")
    @classmethod
    def _only_chat_safe(cls, value: Any) -> Any:
        if value != ToolMode.chat_safe.value:
            raise ValueError(
                "only 'chat_safe' is accepted, spelled exactly so (ADR 0025: a session starts in chat_safe). "
                "Unset it, or set it to chat_safe"
            )
        return value


class ToolOutputSettings(BaseSettings):
    """How much of a tool's output reaches the model, and where the rest is kept."""

    model_config = _area("TOOL_OUTPUT_")

    max_lines: int = Field(default=2000, ge=1, le=1_000_000)
    """Lines of output that the model reads at the most."""
    max_bytes: int = Field(default=51_200, ge=1, le=16_777_216)
    """Bytes of output (UTF-8) that the model reads at the most."""
    direction: Direction | None = None
    """Which end is kept: `head`, `tail` or `head_tail`; unset, the tool decides."""
    dir: str = "tool-output"
    """Directory for whole outputs, relative to the root."""
    retention_days: int = Field(default=7, ge=1, le=3650)
    """Days after which a whole output is removed."""

    @field_validator("dir")
    @classmethod
    def _inside_the_root(cls, value: str) -> str:
        path = PurePosixPath(value)
        inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
        if not inside or "\0" in value or path.parts[0] in {".git", ".toolgate"}:
            raise ValueError(
                "must be a directory inside the root: relative, without '..', not '.', '.git' or '.toolgate'. "
                "Unset it, or set it to something like tool-output"
            )
        return str(path)


class WorkspaceSettings(BaseSettings):
    """The project root."""

    model_config = _area("TOOLGATE_WORKSPACE_")

    root: Path = Path()
    """The directory that tools are confined to."""

    @field_validator("root", mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        if value == "":
            raise ValueError("is empty. Unset it for the current directory, or set it to one")
        return value


class GatewaySettings(BaseSettings):
    """The gateway: where it listens and whom it answers."""

    model_config = _area("TOOLGATE_GATEWAY_")

    token: SecretStr | None = None
    """The bearer token that clients must show."""
    tokens: SecretStr | None = None
    """Users and their tokens, `alice:TOKEN,bob:TOKEN`; each sees sessions of their own."""
    token_file: Path | None = None
    """A file with a token, or with `user:token` lines, in place of both; read again at SIGHUP."""
    host: str = Field(default="127.0.0.1", min_length=1)
    """Address to listen on."""
    port: int = Field(default=8765, ge=0, le=65_535)
    """Port to listen on; 0 takes a free one."""
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Further names, separated by commas, that Host and Origin may carry."""
    max_connections: int = Field(default=2000, ge=1, le=100_000)
    """Clients that may be connected at a time."""
    max_turns: int = Field(default=32, ge=1, le=10_000)
    """Turns of one user that may run at a time."""
    max_frame_bytes: int = Field(default=2_097_152, ge=1024, le=67_108_864)
    """Size of the largest frame that a client may send."""
    max_requests_per_second: int = Field(default=100, ge=1, le=1_000_000)
    """Requests of one client that are read in a second; one that sends more has to wait."""
    tls_cert: Path | None = None
    """The certificate (chain) to serve with, as PEM; needs `tls_key`."""
    tls_key: Path | None = None
    """The certificate's private key, as PEM."""
    insecure_http: bool = False
    """Whether another address than this machine's own may be served without TLS."""
    shutdown_seconds: float = Field(default=30.0, ge=0.0, le=3600.0)
    """Seconds that running turns have to end when the gateway is told to."""

    @field_validator("token")
    @classmethod
    def _token_is_visible(cls, value: SecretStr | None) -> SecretStr | None:
        token = None if value is None else value.get_secret_value()
        if token is not None and (not token or any(not "!" <= character <= "~" for character in token)):
            raise ValueError(
                "must be visible ASCII characters without spaces. Unset it, or set it to a long random word"
            )
        return value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return tuple(value) if isinstance(value, list) else value

    @field_validator("tokens")
    @classmethod
    def _tokens_have_users(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            users_and_tokens(value.get_secret_value().split(","))
        return value

    def tokens_by_user(self) -> dict[str, str]:
        """The token of every user; whoever has no name is the one user of a gateway with one token."""
        alone = {} if self.token is None else {"": self.token.get_secret_value()}
        if self.tokens is None:
            return alone
        return alone | users_and_tokens(self.tokens.get_secret_value().split(","))


_USER_AND_TOKEN = re.compile(r"(?P<user>[A-Za-z0-9._@-]{1,64}):(?P<token>[!-~]+)")


def users_and_tokens(entries: Iterable[str]) -> dict[str, str]:
    """User → token, of entries like `alice:TOKEN`; `ValueError` says what is wrong without saying a token."""
    found: dict[str, str] = {}
    for entry in filter(None, (entry.strip() for entry in entries)):
        match = _USER_AND_TOKEN.fullmatch(entry)
        if match is None:
            raise ValueError(
                "must be user:token, the token in visible ASCII characters. Write something like alice:TOKEN"
            )
        if match["user"] in found or match["token"] in found.values():
            raise ValueError(f"the user {match['user']} or the token is there twice. Give everybody one of their own")
        found[match["user"]] = match["token"]
    return found


class ShellSettings(BaseSettings):
    """Commands and searches."""

    model_config = _area("TOOLGATE_SHELL_")

    sandbox: Sandbox = "auto"
    """What confines commands: `auto` (the best there is), `bwrap`, `landlock`, or `off`."""
    ripgrep: str | None = None
    """The `rg` to run. Unset: the one from the wheel, else from PATH. Empty: none, search in Python."""
    environment: Annotated[tuple[str, ...], NoDecode] = ()
    """Further variables of the environment, separated by commas, that commands may see."""
    readable: Annotated[tuple[str, ...], NoDecode] = ()
    """Further directories or files, absolute and separated by commas, that commands may read."""
    roots: Annotated[tuple[str, ...], NoDecode] = ()
    """Further directories, absolute and separated by commas, that commands with `access="full"` may write."""
    memory_mb: int = Field(default=4096, ge=64, le=1_048_576)
    """Memory that one process may take, and all of a session where a control group can be made."""
    processes: int = Field(default=1024, ge=16, le=1_000_000)
    """Processes that a session may have at a time."""
    file_mb: int = Field(default=2048, ge=1, le=1_048_576)
    """Size of the largest file that a command may write."""

    @field_validator("environment", "readable", "roots", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return tuple(value) if isinstance(value, list) else value

    @field_validator("readable", "roots")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not path.startswith("/") for path in value):
            raise ValueError("must be absolute paths, separated by commas. Unset it, or set it to something like /data")
        return value

    @field_validator("roots")
    @classmethod
    def _narrow(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(os.path.normpath(path).lstrip("/").partition("/")[0] in _SYSTEM for path in value):
            raise ValueError("must not be a directory of the system. Unset it, or set it to something like /data")
        return value


class DatabaseSettings(BaseSettings):
    """Where sessions are kept."""

    model_config = _area("TOOLGATE_DATABASE_")

    url: str | None = Field(default=None, min_length=1, repr=False)
    """Address of the database; unset, a SQLite file in the user's data directory."""

    @property
    def address(self) -> str:
        """The address to open."""
        return self.url or users_database(os.environ)


class ModelSettings(BaseSettings):
    """The language model."""

    model_config = _area("TOOLGATE_MODEL_")

    provider: Literal["offline", "openai", "anthropic"] = "offline"
    """Whose protocol is spoken; `offline` needs no network and no key."""
    name: str | None = Field(default=None, min_length=1)
    """The model's name at the provider."""
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    """Address of a compatible server; unset, the provider's own."""
    api_key: SecretStr | None = None
    """The provider's key."""


class AgentSettings(BaseSettings):
    """The agent loop and its sub-agents."""

    model_config = _area("TOOLGATE_AGENT_")

    max_rounds: int = Field(default=25, ge=1, le=1000)
    """Requests to the model in one turn at the most."""
    context_tokens: int = Field(default=120_000, ge=2_000)
    """Tokens of a request (estimated) above which the conversation is compacted."""
    retries: int = Field(default=3, ge=0, le=20)
    """How often a request that failed for a passing reason is made again."""
    approval_timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a question to a person counts as answered with no; unset, it waits."""
    max_children: int = Field(default=16, ge=0, le=1000)
    """Sub-agents that one turn may start."""
    child_timeout: float = Field(default=600.0, gt=0)
    """Seconds that one sub-agent may take."""
    lease_seconds: float = Field(default=60.0, ge=2.0, le=3600.0)
    """Seconds without a sign of life after which another process may take a session over."""
    max_depth: int = Field(default=1, ge=0, le=5)
    """How deep sub-agents may start sub-agents; 1: only the main agent starts any."""


class DistributedSettings(BaseSettings):
    """Turns on several machines: gateways hand them out, workers play them."""

    model_config = _area("TOOLGATE_DISTRIBUTED_")

    role: Literal["local", "gateway", "both"] = "local"
    """What `toolgate serve` is: it plays turns itself, hands them to workers, or is a worker, too."""
    workspace: str | None = Field(default=None, max_length=200, pattern=r"^[^\x00-\x20=]+$")
    """The workspace of a gateway's sessions, by the name that workers give it; unset, the path of its root."""
    slots: int = Field(default=8, ge=1, le=1000)
    """Turns that a worker plays side by side, for each workspace."""
    agent_slots: int = Field(default=16, ge=1, le=1000)
    """Sub-agents that a worker plays side by side, for each workspace."""
    lease_seconds: float = Field(default=10.0, ge=1.0, le=600.0)
    """Seconds without a sign of life after which others take a worker's turns over."""
    poll_seconds: float = Field(default=0.25, ge=0.005, le=10.0)
    """Seconds between two looks of a worker into its queues, where nobody has told it to look."""
    park_seconds: float = Field(default=60.0, ge=0.0)
    """Seconds that a worker waits for a person's answer before it puts the turn aside until there is one."""
    drain_seconds: float = Field(default=60.0, ge=0.0)
    """Seconds that a worker that was told to end has for its turns; the rest is handed over."""
    grace_seconds: float = Field(default=60.0, ge=0.0)
    """Seconds for which turns are still accepted for a workspace whose last worker is gone."""
    output_bytes: int = Field(default=16_777_216, ge=0, le=1_073_741_824)
    """Bytes up to which a worker stores a whole output in the database, where every gateway finds it."""


class LimitSettings(BaseSettings):
    """How much a user, and all of them together, may ask of the workers."""

    model_config = _area("TOOLGATE_LIMITS_")

    queue_length: int = Field(default=1000, ge=1)
    """Turns that wait at the most; beyond it new ones are refused."""
    user_turns: int = Field(default=4, ge=1)
    """Turns of one user that are played at the same time; others wait."""
    user_agents: int = Field(default=8, ge=1)
    """Sub-agents of one user that work at the same time; others wait."""
    turns_per_minute: int = Field(default=60, ge=0)
    """New turns of one user in a minute; 0 is no limit."""
    tokens_per_day: int = Field(default=0, ge=0)
    """Tokens of one user in a day; 0 is no limit."""


class _PolicyFile(BaseSettings):
    """The files that stand alone."""

    model_config = _area("TOOLGATE_")

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

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

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
        if not {*AREAS, "policy_file"} <= given.keys():
            given = {**_read(given), **given}
        super().__init__(**given)

    @classmethod
    def defaults(cls) -> Self:
        """The defaults of every area, whatever the environment and the config file say."""
        areas: dict[str, Any] = {name: area.model_construct() for name, area in AREAS.items()}
        return cls(policy_file=None, **areas)


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    file, values = read_config_file(os.environ), dict[str, dict[str, Any]]()
    if file is not None and file.values:
        from toolgate.config import configured

        values = configured(file, READ, os.environ)
    read: dict[str, Any] = {name: area(**values.get(name, {})) for name, area in AREAS.items() if name not in given}
    loose = _PolicyFile(**values.get("", {}))
    files = {
        "config_file": users_config(os.environ),
        "policy_file": loose.policy_file or users_policy(os.environ),
        "mcp_config": loose.mcp_config or users_servers(os.environ),
    }
    return {**files, **read}


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
