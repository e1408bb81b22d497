"""The areas of a service: the gateway, the workers, and the limits of their users."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator

from toolgate.settings.area import Area, words


class GatewaySettings(Area):
    """The gateway: where it listens and whom it answers."""

    variable_prefix = "TOOLGATE_GATEWAY_"

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
    allowed_hosts: tuple[str, ...] = ()
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
    model_setup: Literal["auto", "on", "off"] = "auto"
    """Whether users may set up the model of the gateway; `auto`: on this machine's own address with one user."""
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
        return words(value)

    @field_validator("tokens")
    @classmethod
    def _tokens_have_users(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            users_and_tokens(value.get_secret_value().split(","))
        return value

    def tokens_by_user(self) -> dict[str, str]:
        """The token of every user. A gateway with one token has one user, without a name."""
        alone = {} if self.token is None else {"": self.token.get_secret_value()}
        if self.tokens is None:
            return alone
        return alone | users_and_tokens(self.tokens.get_secret_value().split(","))


_USER_AND_TOKEN = r"(?P<user>[A-Za-z0-9._@-]{1,64}):(?P<token>[!-~]+)"


def users_and_tokens(entries: Iterable[str]) -> dict[str, str]:
    """User → token, of entries like `alice:TOKEN`; `ValueError` says what is wrong without saying a token."""
    found: dict[str, str] = {}
    for entry in filter(None, (entry.strip() for entry in entries)):
        match = re.fullmatch(_USER_AND_TOKEN, entry)
        if match is None:
            raise ValueError(
                "must be user:token, the token in visible ASCII characters. Write something like alice:TOKEN"
            )
        if match["user"] in found or match["token"] in found.values():
            raise ValueError(f"the user {match['user']} or the token is there twice. Give everybody one of their own")
        found[match["user"]] = match["token"]
    return found


class DistributedSettings(Area):
    """Turns on several machines: gateways put them into the queue, workers run them."""

    variable_prefix = "TOOLGATE_DISTRIBUTED_"

    role: Literal["local", "gateway", "both"] = "local"
    """What `toolgate serve` is: it runs turns itself, leaves them to workers, or is also a worker."""
    workspace: str | None = Field(default=None, max_length=200, pattern=r"^[^\x00-\x20=]+$")
    """The workspace of a gateway's sessions, by the name that workers give it; unset, the path of its root."""
    slots: int = Field(default=8, ge=1, le=1000)
    """Turns that a worker runs at the same time, for each workspace."""
    agent_slots: int = Field(default=16, ge=1, le=1000)
    """Sub-agents that a worker runs at the same time, for each workspace."""
    lease_seconds: float = Field(default=10.0, ge=1.0, le=600.0)
    """Seconds without a sign of life after which others take a worker's turns over."""
    poll_seconds: float = Field(default=0.25, ge=0.005, le=10.0)
    """Seconds between two polls of its queues by a worker that gets no notification."""
    park_seconds: float = Field(default=60.0, ge=0.0)
    """Seconds that a worker waits for a person's answer before it puts the turn aside until there is one."""
    drain_seconds: float = Field(default=60.0, ge=0.0)
    """Seconds that a worker that was told to end has for its turns; the rest is handed over."""
    grace_seconds: float = Field(default=60.0, ge=0.0)
    """Seconds for which turns are still accepted for a workspace whose last worker is gone."""
    workspaces: Literal["local", "snapshot", "git"] = "local"
    """Where the files of sessions are: in one directory for all, or in one per session, which moves with it. With
    `git` it is a clone, and only what is not in its first commit moves."""
    workspace_dir: Path | None = None
    """Where a worker keeps the directories of sessions; unset, beneath the user's data directory."""
    workspace_bytes: int = Field(default=67_108_864, ge=0, le=1_073_741_824)
    """Bytes of a session's files, packed, up to which they are stored."""
    output_bytes: int = Field(default=16_777_216, ge=0, le=1_073_741_824)
    """Bytes up to which a worker stores a whole output in the database, where every gateway finds it."""


class LimitSettings(Area):
    """How much a user, and all of them together, may ask of the workers."""

    variable_prefix = "TOOLGATE_LIMITS_"

    queue_length: int = Field(default=1000, ge=1)
    """Maximum number of waiting turns; beyond it new ones are refused."""
    user_turns: int = Field(default=4, ge=1)
    """Turns of one user that run at the same time; others wait."""
    user_agents: int = Field(default=8, ge=1)
    """Sub-agents of one user that work at the same time; others wait."""
    turns_per_minute: int = Field(default=60, ge=0)
    """New turns of one user per minute; 0 means no limit."""
    tokens_per_day: int = Field(default=0, ge=0)
    """Tokens of one user per day; 0 means no limit."""
