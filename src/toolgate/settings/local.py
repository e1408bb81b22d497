"""The areas of one agent: its session, its project, its shell, its model."""

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, SecretStr, field_validator

from toolgate.protocol.choices import LAYERS, PROVIDERS, TRUNCATIONS
from toolgate.protocol.modes import ToolMode
from toolgate.settings.area import Area, words
from toolgate.userfiles import users_database

if TYPE_CHECKING:  # the values are in tables, which a type checker does not read
    Direction = str
    Sandbox = str
    ProviderName = str
else:
    Direction = Literal[tuple(TRUNCATIONS)]
    Sandbox = Literal["auto", *LAYERS]
    ProviderName = Literal[tuple(PROVIDERS)]
_SYSTEM = frozenset(["", "bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr"])


class SessionSettings(Area):
    """The modes of sessions."""

    variable_prefix = "SESSION_"

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


class ToolOutputSettings(Area):
    """How much of a tool's output reaches the model, and where the rest is kept."""

    variable_prefix = "TOOL_OUTPUT_"

    max_lines: int = Field(default=2000, ge=1, le=1_000_000)
    """Maximum lines of output that the model reads."""
    max_bytes: int = Field(default=51_200, ge=1, le=16_777_216)
    """Maximum bytes of output (UTF-8) that the model reads."""
    direction: Direction | None = None
    """Which part of a long output is kept, one of `TRUNCATIONS`; unset, the tool decides."""
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


class WorkspaceSettings(Area):
    """The project root."""

    variable_prefix = "TOOLGATE_WORKSPACE_"

    root: Path = Path()
    """The directory that tools are confined to."""
    extra: tuple[str, ...] = ()
    """Further directories, absolute and separated by commas, that tools and commands may read and never write."""

    @field_validator("extra", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return words(value)

    @field_validator("extra")
    @classmethod
    def _directories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if not path.startswith("/") or not os.path.isdir(path):
                raise ValueError(
                    f"{path} is not the absolute path of a directory. Unset it, or set it to directories that exist, "
                    "such as /data/docs"
                )
            if os.path.normpath(path).lstrip("/").partition("/")[0] in _SYSTEM - {"usr"}:
                raise ValueError(f"{path} is a directory of the system. Unset it, or name another, such as /data/docs")
        return value

    @field_validator("root", mode="before")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        if value == "":
            raise ValueError("is empty. Unset it for the current directory, or set it to one")
        return value


class ShellSettings(Area):
    """Commands and searches."""

    variable_prefix = "TOOLGATE_SHELL_"

    sandbox: Sandbox = "auto"
    """What confines commands: one of `LAYERS`, or `auto`, the best there is."""
    bwrap: str | None = None
    """The `bwrap` to run, an absolute path. Unset: the system's own, else the one from the wheel."""
    ripgrep: str | None = None
    """The `rg` to run. Unset: the one from the wheel, else from PATH. Empty: none, search in Python."""
    environment: tuple[str, ...] = ()
    """Further variables of the environment, separated by commas, that commands may see."""
    readable: tuple[str, ...] = ()
    """Further directories or files, absolute and separated by commas, that commands may read."""
    roots: tuple[str, ...] = ()
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
        return words(value)

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


class DatabaseSettings(Area):
    """Where sessions are kept."""

    variable_prefix = "TOOLGATE_DATABASE_"

    url: str | None = Field(default=None, min_length=1, repr=False)
    """Address of the database; unset, a SQLite file in the user's data directory."""

    @property
    def address(self) -> str:
        """The address to open."""
        return self.url or users_database(os.environ)


class ModelSettings(Area):
    """The language model."""

    variable_prefix = "TOOLGATE_MODEL_"

    provider: ProviderName = "offline"
    """Whose protocol is spoken, one of `PROVIDERS`; `offline` needs no network and no key."""
    name: str | None = Field(default=None, min_length=1)
    """The model's name at the provider."""
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    """Address of a compatible server; unset, the provider's own."""
    api_key: SecretStr | None = None
    """The provider's key."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds of silence after which a request to the model has failed."""
    total_timeout: float = Field(default=3600.0, gt=0)
    """Seconds after which one answer of the model has to be whole."""
    context_tokens: int | None = Field(default=None, ge=1_000)
    """Tokens that the model takes; unset, only `TOOLGATE_AGENT_CONTEXT_TOKENS` and what its refusals teach count."""
    vision: bool | None = None
    """Whether the model looks at pictures; unset, its server's list or its name says so."""
    input_price: float | None = Field(default=None, ge=0)
    """What a million input tokens cost, in a currency of your own; costs are shown if both prices are set."""
    output_price: float | None = Field(default=None, ge=0)
    """What a million output tokens cost."""


class AgentSettings(Area):
    """The agent loop and its sub-agents."""

    variable_prefix = "TOOLGATE_AGENT_"

    max_rounds: int = Field(default=25, ge=1, le=1000)
    """Maximum requests to the model in one turn."""
    context_tokens: int = Field(default=120_000, ge=2_000)
    """Tokens of a request (estimated) above which the conversation is compacted."""
    retries: int = Field(default=3, ge=0, le=20)
    """How often a request that failed for a passing reason is made again."""
    max_answer_bytes: int = Field(default=1_000_000, ge=1_000, le=1_000_000)
    """Bytes of text in one answer of the model; a longer one is cut there."""
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
