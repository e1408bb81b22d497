"""Setting up a model: trying an address and a key, and storing what works in the user's config file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from toolgate.errors import ConfigError, ModelError
from toolgate.models import errors
from toolgate.models.catalog import ModelInfo, list_models
from toolgate.models.source import ModelSource
from toolgate.protocol.choices import PROVIDERS, load
from toolgate.settings import ModelSettings
from toolgate.text.redaction import learn_secret
from toolgate.userfiles import write_config_table

COMPATIBLE: Final = "_compatible"
"""The end of the id of a server that speaks a provider's protocol."""
_KEY = re.compile(r"[!-~]+")
_MIN_CONTEXT: Final = 1_000
_WRONG_ADDRESS = ("MODEL_ADDRESS", "MODEL_NOT_FOUND", "MODEL_PROTOCOL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a person wants to use."""

    provider: str
    """The `id` of one of `offers()`."""
    base_url: str | None = None
    api_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A server that answers with its models."""

    provider: str
    """The provider whose protocol it speaks."""
    base_url: str | None
    """The address that works; None: the provider's own."""
    api_key: str | None
    """The key that was given, if it has to be stored."""
    models: tuple[ModelInfo, ...]


def offers() -> list[dict[str, Any]]:
    """The providers that can be set up."""
    found: list[dict[str, Any]] = []
    for name, row in PROVIDERS.items():
        if row.catalog:
            found.append({"id": name, "label": row.title, "needs_key": True, "base_url": row.server})
    for name, row in PROVIDERS.items():
        if row.catalog and row.compatible:
            label = f"Another server ({row.title}-compatible)"
            found.append({"id": f"{name}{COMPATIBLE}", "label": label, "needs_key": False})
    return found


async def try_out(choice: Choice, source: ModelSource) -> Trial:
    """Ask the server for its models; raises `ModelError` with its address and what is probably wrong."""
    provider, address = _checked_choice(choice)
    key = _key_of(choice, provider, address, source)
    models, address = await _list_models(provider, address, key)
    if not models:
        where = address or PROVIDERS[provider].server
        cause = f"The server at {where} answers, but it has no models."
        raise _refused(cause, "Load or pull a model there first.")
    return Trial(provider=provider, base_url=address, api_key=_entered_key(choice), models=tuple(models))


async def set_up(choice: Choice, model: str, source: ModelSource, environ: Mapping[str, str] = os.environ) -> None:
    """Try a model, store it in the user's config file, and use it from the next turn on."""
    forced = sorted(name for name in environ if name.upper() in _VARIABLES)
    if forced:
        raise _refused(
            f"{' and '.join(forced)} in the environment would win over what is stored here.",
            "Unset it and start again, or set the model there.",
        )
    trial = await try_out(choice, source)
    name = model.partition(":")[2] if model.partition(":")[0] == trial.provider else model
    if name not in [info.name for info in trial.models]:
        where = trial.base_url or PROVIDERS[trial.provider].server
        known = ", ".join(info.name for info in trial.models[:5])
        raise ModelError("MODEL_NOT_FOUND", f"There is no model {name!r} at {where}. It has: {known}.")
    size = next(info.context_tokens for info in trial.models if info.name == name)
    values: dict[str, str | int | None] = {
        "provider": trial.provider,
        "name": name,
        "base_url": trial.base_url,
        "api_key": trial.api_key,
        "context_tokens": size if size is not None and size >= _MIN_CONTEXT else None,
    }
    try:
        write_config_table(environ, "model", values)
    except ConfigError as error:
        raise _refused(f"Nothing was stored: {error}.", "") from error
    key = trial.api_key if trial.api_key is not None else _known_key(trial.provider, trial.base_url, source)
    secret = SecretStr(key or environ.get(PROVIDERS[trial.provider].key) or "none")
    source.configure(ModelSettings.of({**source.settings.__dict__, **values, "api_key": secret}))


def _checked_choice(choice: Choice) -> tuple[str, str | None]:
    """Return the provider and the address. Raises `ModelError` if one of them is not usable."""
    if choice.provider not in [offer["id"] for offer in offers()]:
        raise _refused(
            f"There is no provider {choice.provider[:50]!r}.", f"Use one of: {', '.join(o['id'] for o in offers())}."
        )
    provider = choice.provider.removesuffix(COMPATIBLE)
    address = (choice.base_url or "").strip() or None
    if address is not None and not address.endswith("://"):
        address = address.rstrip("/")
    if address is not None and "://" not in address:
        address = f"http://{address}"
    if address is None and choice.provider != provider:
        raise _refused("The address of the server is missing.", "Write something like http://127.0.0.1:11434/v1.")
    if address is not None:
        _check_address(address)
    return provider, None if address == PROVIDERS[provider].server else address


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or re.search(r"[\x00-\x20\x7f]", address):
        raise _refused(f"{address[:200]!r} is not an address.", "Write something like http://127.0.0.1:11434/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _refused("The address must not have a user, a password or a query in it.", "Enter the key as the key.")


def _entered_key(choice: Choice) -> str | None:
    """Return the key that was entered. From now on it is masked everywhere, even if it does not work."""
    key = (choice.api_key or "").strip()
    if not key:
        return None
    learn_secret(key)
    if _KEY.fullmatch(key) is None:
        raise _refused("The key has characters that no key has.", "Copy it again, without spaces or line breaks.")
    return key


def _key_of(choice: Choice, provider: str, address: str | None, source: ModelSource) -> str | None:
    """The key to try: the one that was entered, else the one that this server got before."""
    key = _entered_key(choice) or _known_key(provider, address, source)
    if key is None and choice.provider == provider and address is None:
        title = PROVIDERS[provider].title
        raise ModelError("MODEL_AUTH", f"{title} needs a key. Enter one.", cause=f"{title} needs a key.")
    return key


def _known_key(provider: str, address: str | None, source: ModelSource) -> str | None:
    """The key that is in use for exactly this server. No other server ever gets it."""
    known = source.settings
    if known.provider != provider or known.base_url != address or known.api_key is None:
        return None
    return known.api_key.get_secret_value()


async def _list_models(provider: str, address: str | None, key: str | None) -> tuple[list[ModelInfo], str | None]:
    """Return the models of a server, and the address that works: the given one, or that with `/v1` added."""
    row = PROVIDERS[provider]
    where = address or row.server
    listing = load(row.catalog)
    try:
        return await list_models(listing(where, key), where), address
    except ModelError as error:
        if error.code not in _WRONG_ADDRESS or not row.compatible or urlsplit(where).path.strip("/"):
            raise
        with_version = f"{where}/v1"
        try:
            return await list_models(listing(with_version, key), with_version), with_version
        except ModelError:
            raise error from None


def _refused(cause: str, advice: str) -> ModelError:
    return errors.refusal("MODEL_BAD_REQUEST", cause, advice)


_VARIABLES: Final = frozenset(f"TOOLGATE_MODEL_{name}" for name in ("PROVIDER", "NAME", "BASE_URL", "API_KEY"))
