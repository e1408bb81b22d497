"""Selects the model: from a name, the settings, or the API keys in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient
from toolgate.protocol.choices import PROVIDERS, Provider, load

if TYPE_CHECKING:
    from toolgate.settings import ModelSettings

_OFFLINE = "offline"
"""The provider that is taken where nothing says otherwise."""


def model_settings(name: str | None, settings: ModelSettings, environ: Mapping[str, str]) -> ModelSettings:
    """Complete the settings with the requested model (`--model`) and the API keys in the environment.

    `name` is a provider without key (`offline`), `PROVIDER:NAME` or a bare name. A bare name goes to the provider that
    claims it (`claude…` is Anthropic's), else to the OpenAI-compatible server. Put the result into `Settings.model`, so
    that its key is masked everywhere.
    """
    chosen, model = _provider_and_model(name, settings, environ)
    provider = PROVIDERS[chosen]
    if settings.provider not in (_OFFLINE, chosen):  # the key and the address belong to the other provider
        settings = settings.model_copy(update={"api_key": None, "base_url": None, "provider": chosen})
    if not provider.key:
        return settings.model_copy(update={"provider": chosen, "name": None})
    key = settings.api_key.get_secret_value() if settings.api_key else environ.get(provider.key) or None
    address = settings.base_url or environ.get(provider.address) or None
    if key is None and address is None:
        where = f"{provider.key} or TOOLGATE_MODEL_API_KEY"
        raise ModelError("MODEL_AUTH", f"The model {name or chosen!r} needs a key. Set {where}.")
    from pydantic import SecretStr

    # The SDK requires a key even if the server does not.
    secret = SecretStr(key or "none")
    return settings.model_copy(update={"provider": chosen, "name": model, "base_url": address, "api_key": secret})


def choose_model(
    name: str | None = None, *, settings: ModelSettings | None = None, environ: Mapping[str, str] | None = None
) -> ModelClient:
    """Create a model client from a name, settings and an environment. All are optional; nothing else is read."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"the name of a model is text, not a {type(name).__name__}: write settings=settings.model")
    if settings is None:
        from toolgate.settings import Settings

        settings = Settings.defaults().model
    return model_from_settings(model_settings(name, settings, environ or {}))


def model_from_settings(settings: ModelSettings) -> ModelClient:
    """Create the client for completed settings."""
    provider = PROVIDERS[settings.provider]
    client: type[ModelClient] = load(provider.client)
    return client(**_options(settings)) if provider.key else client()


def _options(settings: ModelSettings) -> dict[str, Any]:
    """The arguments of a client."""
    options: dict[str, Any] = {
        "base_url": settings.base_url,
        "timeout": settings.timeout,
        "total_timeout": settings.total_timeout,
    }
    if settings.api_key is not None:
        options["api_key"] = settings.api_key.get_secret_value()
    if settings.name:
        options["model"] = settings.name
    return options


def _provider_and_model(
    name: str | None, settings: ModelSettings, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Return the provider and the model name."""
    if name:
        provider, colon, model = name.partition(":")
        if provider in PROVIDERS and (colon or not PROVIDERS[provider].key):
            return provider, model or None
        return _guess_provider(name), name
    if settings.provider != _OFFLINE:
        return settings.provider, settings.name
    found = next((one for one, provider in PROVIDERS.items() if _is_set_up(provider, environ)), None)
    return (found, settings.name) if found is not None else (_OFFLINE, None)


def _guess_provider(model: str) -> str:
    """Return the provider whose names begin like the model's, else the one with a protocol that other servers use."""
    claimed = (name for name, provider in PROVIDERS.items() if provider.models and model.startswith(provider.models))
    others = (name for name, provider in PROVIDERS.items() if provider.compatible)
    return next(claimed, None) or next(others)


def _is_set_up(provider: Provider, environ: Mapping[str, str]) -> bool:
    """Whether the environment says how to reach the provider."""
    variables = (provider.key, provider.address) if provider.compatible else (provider.key,)
    return any(environ.get(variable) for variable in variables if variable)
