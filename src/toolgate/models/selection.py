"""Selects the model: from a name, the settings, or the API keys in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient

if TYPE_CHECKING:
    from toolgate.settings import ModelSettings

_PROVIDERS = ("openai", "anthropic", "offline")


def model_settings(name: str | None, settings: ModelSettings, environ: Mapping[str, str]) -> ModelSettings:
    """Complete the settings with the requested model (`--model`) and the API keys in the environment.

    `name` is `offline`, `openai:NAME`, `anthropic:NAME` or a bare name. A bare name that starts with `claude` means
    Anthropic; any other goes to the OpenAI-compatible server. Put the result into `Settings.model`, so that its key is
    masked everywhere.
    """
    provider, model = _provider_and_model(name, settings, environ)
    if provider == "offline":
        return settings.model_copy(update={"provider": "offline", "name": None})
    variables = provider.upper()
    key = settings.api_key.get_secret_value() if settings.api_key else environ.get(f"{variables}_API_KEY") or None
    address = settings.base_url or environ.get(f"{variables}_BASE_URL") or None
    if key is None and address is None:
        where = f"{variables}_API_KEY or TOOLGATE_MODEL_API_KEY"
        raise ModelError("MODEL_AUTH", f"The model {name or provider!r} needs a key. Set {where}.")
    from pydantic import SecretStr

    # The SDK requires a key even if the server does not.
    secret = SecretStr(key or "none")
    return settings.model_copy(update={"provider": provider, "name": model, "base_url": address, "api_key": secret})


def choose_model(
    name: str | None = None, *, settings: ModelSettings | None = None, environ: Mapping[str, str] | None = None
) -> ModelClient:
    """Create a model client from a name, settings and an environment. All are optional; nothing else is read."""
    if settings is None:
        from toolgate.settings import Settings

        settings = Settings.defaults().model
    return model_from_settings(model_settings(name, settings, environ or {}))


def model_from_settings(settings: ModelSettings) -> ModelClient:
    """Create the client for completed settings."""
    if settings.provider == "offline":
        from toolgate.models.offline import OfflineModel

        return OfflineModel()
    options: dict[str, Any] = {
        "base_url": settings.base_url,
        "timeout": settings.timeout,
        "total_timeout": settings.total_timeout,
    }
    if settings.api_key is not None:
        options["api_key"] = settings.api_key.get_secret_value()
    if settings.name:
        options["model"] = settings.name
    if settings.provider == "anthropic":
        from toolgate.models.anthropic import AnthropicModel

        return AnthropicModel(**options)
    from toolgate.models.openai import OpenAIModel

    return OpenAIModel(**options)


def _provider_and_model(
    name: str | None, settings: ModelSettings, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Return the provider and the model name."""
    if name:
        provider, colon, model = name.partition(":")
        if provider in _PROVIDERS and (colon or provider == "offline"):
            return provider, model or None
        return ("anthropic" if name.startswith("claude") else "openai"), name
    if settings.provider != "offline":
        return settings.provider, settings.name
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        return "openai", settings.name
    if environ.get("ANTHROPIC_API_KEY"):
        return "anthropic", settings.name
    return "offline", None
