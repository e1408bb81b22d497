"""Keeping secrets and floods out of what is shown and stored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.settings import Settings

MARK = "[redacted]"
LONGEST = 2_000
"""Characters of one argument that are kept in the record."""

_SECRET_KEY = re.compile(
    r"pass(word|wd|phrase)|secret|token|api_?key|authorization|credential|private_?key", re.IGNORECASE
)


def stored(value: Any, *, depth: int = 6) -> Any:
    """A copy for the record: long texts bounded, fields that are named like secrets masked."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}… ({len(value)} characters)"
    if isinstance(value, dict):
        if depth == 0:
            return "…"
        return {
            key: MARK if _SECRET_KEY.search(str(key)) else stored(item, depth=depth - 1) for key, item in value.items()
        }
    if isinstance(value, list):
        if depth == 0:
            return "…"
        kept = [stored(item, depth=depth - 1) for item in value[:100]]
        return kept if len(value) <= 100 else [*kept, f"… ({len(value)} items)"]
    return value


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """The runtime's own secrets: every set `SecretStr` in the settings."""
    from pydantic import BaseModel, SecretStr

    found: list[str] = []
    for area in settings.__dict__.values():
        fields = area.__dict__.values() if isinstance(area, BaseModel) else (area,)
        found.extend(value.get_secret_value() for value in fields if isinstance(value, SecretStr))
    return tuple(secret for secret in found if len(secret) >= 6)


def mask(value: Any, secrets: tuple[str, ...]) -> Any:
    """A copy with every secret replaced."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MARK)
        return value
    if isinstance(value, dict):
        return {mask(key, secrets): mask(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask(item, secrets) for item in value]
    return value
