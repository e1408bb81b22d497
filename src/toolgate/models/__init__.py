"""Model clients: OpenAI-compatible, Anthropic, and one that needs no model. No SDK is loaded before its first use."""

from toolgate.errors import ModelError
from toolgate.models.anthropic import AnthropicModel
from toolgate.models.base import ModelClient, ModelItem, ModelRequest, ModelStop, ModelUsage
from toolgate.models.choose import choose_model, model_of, model_settings
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
