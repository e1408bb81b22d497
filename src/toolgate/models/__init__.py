"""Model clients: OpenAI-compatible servers, Anthropic, and `OfflineModel`, which needs no model.

Lives here: what a client is, which one is used, how it streams, and what its errors mean.
May touch: HTTP connections; a provider's SDK is imported only where it is needed.
Start reading: `base.py` (what a client is), then `selection.py` (which client) and `sdk.py` (how a client streams).
"""

from typing import TYPE_CHECKING, Any

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient, ModelItem, ModelRequest, ModelStop, ModelUsage
from toolgate.models.selection import choose_model, model_from_settings, model_settings
from toolgate.protocol.choices import PROVIDERS, load

if TYPE_CHECKING:
    from toolgate.models.anthropic import AnthropicModel
    from toolgate.models.offline import OfflineModel
    from toolgate.models.openai import OpenAIModel

__all__ = [
    "AnthropicModel",
    "ModelClient",
    "ModelError",
    "ModelItem",
    "ModelRequest",
    "ModelStop",
    "ModelUsage",
    "OfflineModel",
    "OpenAIModel",
    "choose_model",
    "model_from_settings",
    "model_settings",
]

_CLIENTS = {provider.client.partition(":")[2]: provider.client for provider in PROVIDERS.values()}
"""The providers' clients by name, each loaded when asked for."""


def __getattr__(name: str) -> Any:
    if name not in _CLIENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(_CLIENTS[name])
