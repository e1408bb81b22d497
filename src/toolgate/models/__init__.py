"""Model clients: OpenAI-compatible, Anthropic, and one that needs no model. No SDK is loaded before its first use."""

import importlib
from typing import TYPE_CHECKING, Any

from toolgate.errors import ModelError
from toolgate.models.base import ModelClient, ModelItem, ModelRequest, ModelStop, ModelUsage
from toolgate.models.choose import choose_model, model_of, model_settings

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
    "model_of",
    "model_settings",
]

_WHERE = {"AnthropicModel": "anthropic", "OfflineModel": "offline", "OpenAIModel": "openai"}
"""The clients, each loaded when asked for."""


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
