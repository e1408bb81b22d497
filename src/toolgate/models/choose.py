"""Which model: a name that was asked for, the settings, the keys that people already have, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient

if TYPE_CHECKING:
    from toolgate.settings import ModelSettings

_PREFIXES = ("openai", "anthropic", "offline")


def model_settings(name: str | None, settings: ModelSettings, environ: Mapping[str, str]) -> ModelSettings:
    """The settings completed with what was asked for (`--model`) and with the keys in the environment.

    `name` is `offline`, `openai:NAME`, `anthropic:NAME`, or a bare name: `claude…` is Anthropic's, all else goes to the
    OpenAI-compatible server. Put the outcome into `Settings.model`: then its key is masked everywhere.
    """
    provider, model = _wanted(name, settings, environ)
    if provider == "offline":
        return settings.model_copy(update={"provider": "offline", "name": None})
    variables = provider.upper()
    key = settings.api_key.get_secret_value() if settings.api_key else environ.get(f"{variables}_API_KEY") or None
    address = settings.base_url or environ.get(f"{variables}_BASE_URL") or None
    if key is None and address is None:
        where = f"{variables}_API_KEY or TOOLGATE_MODEL_API_KEY"
        raise ModelError("MODEL_AUTH", f"The model {name or provider!r} needs a key: set {where}.")
    from pydantic import SecretStr

    # a server of one's own wants no key, but the SDK does
    secret = SecretStr(key or "none")
    return settings.model_copy(update={"provider": provider, "name": model, "base_url": address, "api_key": secret})


def choose_model(
    name: str | None = None, *, settings: ModelSettings | None = None, environ: Mapping[str, str] | None = None
) -> ModelClient:
    """The model client for a name, settings and an environment; each may be missing, and nothing else is read."""
    if settings is None:
        from toolgate.settings import Settings

        settings = Settings.defaults().model
    return model_of(model_settings(name, settings, environ or {}))


def model_of(settings: ModelSettings) -> ModelClient:
    """The client that completed settings stand for."""
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


def _wanted(name: str | None, settings: ModelSettings, environ: Mapping[str, str]) -> tuple[str, str | None]:
    """Provider and model."""
    if name:
        provider, colon, model = name.partition(":")
        if provider in _PREFIXES and (colon or provider == "offline"):
            return provider, model or None
        return ("anthropic" if name.startswith("claude") else "openai"), name
    if settings.provider != "offline":
        return settings.provider, settings.name
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        return "openai", settings.name
    if environ.get("ANTHROPIC_API_KEY"):
        return "anthropic", settings.name
    return "offline", None
