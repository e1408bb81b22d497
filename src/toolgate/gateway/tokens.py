"""Reads the tokens from the settings, or from a file that may change while the gateway runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.errors import ConfigError
from toolgate.settings import users_and_tokens
from toolgate.userfiles import read_token_file

if TYPE_CHECKING:
    from toolgate.settings import Settings


def tokens_of(settings: Settings) -> dict[str, str]:
    """Return the current tokens by user; empty if none is set."""
    file = settings.gateway.token_file
    if file is None:
        return settings.gateway.tokens_by_user()
    if file.resolve().is_relative_to(settings.workspace.root.resolve()):
        raise ConfigError([f"{file}: is inside the project, where tools can read it. Move it"])
    lines = [line.strip() for line in read_token_file(file).splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    try:
        if len(lines) == 1 and ":" not in lines[0]:
            return {"": next(iter(users_and_tokens([f"nobody:{lines[0]}"]).values()))}
        tokens = users_and_tokens(lines)
    except ValueError as error:
        raise ConfigError([f"{file}: {error}"]) from None
    if not tokens:
        raise ConfigError([f"{file}: contains no token. Write one, or user:token lines"])
    return tokens
