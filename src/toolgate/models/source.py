"""`ModelSource`: the models of a program, which can be replaced while turns run."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Final

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient, ModelItem, ModelRequest
from toolgate.models.sdk import SdkModel
from toolgate.models.selection import model_from_settings, model_settings
from toolgate.protocol.choices import PROVIDERS, load

if TYPE_CHECKING:
    from toolgate.models.catalog import ModelInfo
    from toolgate.settings import ModelSettings

_FRESH: Final = 300.0
"""Seconds for which a list of models is used again."""
_MAX_CLIENTS: Final = 32


class ModelSource:
    """The default model, and others by name. A turn takes its model once and keeps it."""

    def __init__(
        self, settings: ModelSettings, model: ModelClient | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        """`settings` are complete (`model_settings`); `model` is the default in place of theirs."""
        self._environ = environ or {}
        self._settings = settings
        self._default = model
        self._clients: dict[str, ModelClient] = {}
        self._lists: dict[str, tuple[float, list[ModelInfo]]] = {}

    @property
    def settings(self) -> ModelSettings:
        """The settings of the default."""
        return self._settings

    @property
    def default(self) -> ModelClient:
        """The model of sessions that have no other."""
        if self._default is None:
            self._default = model_from_settings(self._settings)
            if isinstance(self._default, SdkModel):
                self._default.context_tokens = self._settings.context_tokens
                if self._settings.vision is not None:
                    self._default.vision = self._settings.vision
        return self._default

    @property
    def default_name(self) -> str:
        """The name of the default, for people."""
        return str(getattr(self.default, "name", type(self.default).__name__))

    @property
    def default_id(self) -> str:
        """The name of the default, as `find` understands it."""
        provider, name = self._settings.provider, self.default_name
        return f"{provider}:{name}" if self.is_configured and PROVIDERS[provider].key else name

    @property
    def is_configured(self) -> bool:
        """Whether there is a language model."""
        return self.default_name != "offline"

    def find(self, name: str | None) -> ModelClient:
        """Return a model by its name, or the default. Raises `ModelError` if it cannot be used here."""
        if not name or name in (self.default_id, self.default_name):
            return self.default
        if name not in self._clients:
            if len(self._clients) >= _MAX_CLIENTS:
                self._clients.pop(next(iter(self._clients)))
            client = model_from_settings(model_settings(name, self._settings, self._environ))
            if isinstance(client, SdkModel):
                info = self._info(client.name)
                client.context_tokens = None if info is None else info.context_tokens
                client.vision = client.vision if info is None else info.vision
            self._clients[name] = client
        return self._clients[name]

    def configure(self, settings: ModelSettings) -> None:
        """Replace the default. Turns that run keep their model."""
        self._settings = settings
        self._default = None
        self._clients.clear()
        self._lists.clear()

    def _info(self, name: str) -> ModelInfo | None:
        """Return the entry of a model in a list that was read; None if there is none."""
        known = (info for _, infos in self._lists.values() for info in infos)
        return next((info for info in known if info.name == name), None)

    async def catalog(self) -> tuple[list[tuple[str, ModelInfo]], str]:
        """All models that can be chosen, each with its provider, and why some are missing (empty if none are)."""
        found: list[tuple[str, ModelInfo]] = []
        problems: list[str] = []
        for name in self._providers():
            try:
                found += [(name, info) for info in await self._list(name)]
            except ModelError as error:
                problems.append(error.message)
        from toolgate.models.catalog import ModelInfo

        default = self.default_name
        if self.is_configured and not any(info.name == default for _, info in found):
            found.insert(0, (self._settings.provider, ModelInfo(name=default, label=default)))
        return found, " ".join(problems)

    def _providers(self) -> list[str]:
        """The providers that are set up: the default's, and those whose key is in the environment."""
        own = self._settings.provider
        others = [name for name, row in PROVIDERS.items() if name != own and row.key and self._environ.get(row.key)]
        return [name for name in (own, *others) if PROVIDERS[name].catalog]

    async def _list(self, provider: str) -> list[ModelInfo]:
        at, known = self._lists.get(provider, (0.0, []))
        if known and time.monotonic() - at < _FRESH:
            return known
        from toolgate.models.catalog import list_models

        row = PROVIDERS[provider]
        settings = model_settings(f"{provider}:", self._settings, self._environ)
        address = settings.base_url or row.server
        key = settings.api_key.get_secret_value() if settings.api_key is not None else None
        models: list[ModelInfo] = await list_models(load(row.catalog)(address, key), address)
        self._lists[provider] = time.monotonic(), models
        return models

    async def aclose(self) -> None:
        """Close the connections of the models that were made here."""
        for client in (self._default, *self._clients.values()):
            close = getattr(client, "aclose", None)
            if close is not None:
                await close()


class UnusableModel:
    """The model of a session whose model cannot be used here. Every request raises the reason."""

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Raise the error."""
        raise self._error
