"""Masks secrets and shortens long values in what is shown and stored."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from toolgate.protocol.choices import PROVIDERS

if TYPE_CHECKING:
    from toolgate.settings import Settings

MARK = "[redacted]"
MAX_CHARACTERS = 2_000
"""Longest text that is recorded of one argument, in characters."""
MAX_ITEMS = 100
"""Most items that are recorded of one list or object."""
_MAX_KEY = 200
_MIN_SECRET_LENGTH = 6
"""Shortest secret that is masked, in characters. Shorter ones would match ordinary text."""
_LONG = 1 << 12
"""Longer texts are first searched for each secret, which is faster than the pattern."""

_SECRET_KEY = re.compile(
    r"pass(word|wd|phrase)|secret|token|api[_-]?key|authorization|credential|private[_-]?key", re.IGNORECASE
)


def is_secret_name(name: str) -> bool:
    """Whether a name suggests that the value is a secret."""
    return _SECRET_KEY.search(name) is not None


def recorded_copy(value: Any, *, depth: int = 6) -> Any:
    """Return a copy for the record: long texts are shortened, and fields that are named like secrets are masked."""
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARACTERS else f"{value[:MAX_CHARACTERS]}… ({len(value)} characters)"
    if isinstance(value, dict | list) and depth == 0:
        return "…"
    if isinstance(value, dict):
        kept = {_shown(key): _field(str(key), item, depth) for key, item in itertools.islice(value.items(), MAX_ITEMS)}
        return kept if len(value) <= MAX_ITEMS else {**kept, "…": f"({len(value)} keys)"}
    if isinstance(value, list):
        items = [recorded_copy(item, depth=depth - 1) for item in value[:MAX_ITEMS]]
        return items if len(value) <= MAX_ITEMS else [*items, f"… ({len(value)} items)"]
    return value


def _field(key: str, value: Any, depth: int) -> Any:
    return MARK if is_secret_name(key) else recorded_copy(value, depth=depth - 1)


def _shown(key: Any) -> Any:
    return key if not isinstance(key, str) or len(key) <= _MAX_KEY else f"{key[:_MAX_KEY]}…"


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return the runtime's own secrets: every `SecretStr` in the settings, and the API keys that model SDKs read."""
    from pydantic import BaseModel, SecretStr

    found: list[str] = []
    for area in settings.__dict__.values():
        fields = area.__dict__.values() if isinstance(area, BaseModel) else (area,)
        found.extend(value.get_secret_value() for value in fields if isinstance(value, SecretStr))
    found.extend(settings.gateway.tokens_by_user().values())
    keys = (provider.key for provider in PROVIDERS.values())
    found.extend(os.environ[name] for name in keys if name in os.environ)
    return tuple(secret for secret in found if len(secret) >= _MIN_SECRET_LENGTH)


added_secrets: list[str] = []
"""Every secret that became known while this process ran; the secrets of the settings are not among them."""
_added: dict[tuple[str, ...], tuple[str, ...]] = {}
"""Original secrets → the same secrets plus those that were added to them."""


def add_secrets(secrets: tuple[str, ...], more: Iterable[str]) -> None:
    """Mask the secrets in `more` wherever `secrets` are masked."""
    fresh = [secret for secret in more if len(secret) >= _MIN_SECRET_LENGTH]
    _added[secrets] = tuple(dict.fromkeys((*current_secrets(secrets), *fresh)))
    added_secrets.extend(fresh)
    secret_pattern.cache_clear()


_learnt: list[str] = []
"""Secrets that were entered while this process ran, such as a model's key."""


def learn_secret(secret: str) -> None:
    """Mask this secret from now on, wherever this process masks anything."""
    if len(secret) >= _MIN_SECRET_LENGTH and secret not in _learnt:
        _learnt.append(secret)
        added_secrets.append(secret)
        secret_pattern.cache_clear()


def current_secrets(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Return the secrets, with those that were added later."""
    known = _added.get(secrets, secrets)
    return known if not _learnt else tuple(dict.fromkeys((*known, *_learnt)))


@functools.lru_cache(maxsize=16)
def secret_pattern(secrets: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches any of the secrets. The longest match wins."""
    return re.compile("|".join(map(re.escape, sorted(current_secrets(secrets), key=len, reverse=True))) or r"(?!)")


def without_secret(text: str, secret: str) -> str:
    """Return the text with this secret replaced, unless it is too short to be one."""
    return text.replace(secret, MARK) if len(secret) >= _MIN_SECRET_LENGTH else text


def mask(value: Any, secrets: tuple[str, ...]) -> Any:
    """Return a copy with every secret replaced."""
    if isinstance(value, str):
        if len(value) > _LONG and not any(secret in value for secret in current_secrets(secrets)):
            return value  # much faster than the pattern, which also blocks all other threads
        return secret_pattern(secrets).sub(MARK, value)
    if isinstance(value, dict):
        return {mask(key, secrets): mask(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask(item, secrets) for item in value]
    return value
