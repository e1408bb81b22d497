"""Masks Toolgate's own secrets in the responses of a model, even if a secret is split over several pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator

from toolgate.models.base import ModelClient, ModelItem, ModelRequest
from toolgate.protocol.calls import ToolCall
from toolgate.text.masking import MaskedText
from toolgate.text.redaction import mask


class MaskedModel:
    """Passes a model's response on with every secret replaced, also one that becomes known during the response."""

    def __init__(self, model: ModelClient, secrets: tuple[str, ...]) -> None:
        self._model = model
        self._secrets = secrets
        self.name = str(getattr(model, "name", ""))
        self.vision = getattr(model, "vision", False) is True
        self.context_tokens: int | None = getattr(model, "context_tokens", None)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Yield the response. Text that may be the start of a secret is held back until the next piece."""
        text = MaskedText(self._secrets)
        items = self._model.stream(request)
        try:
            async for item in items:
                if isinstance(item, str):
                    if shown := text.feed(item):
                        yield shown
                    continue
                # Text can continue after a call and both pieces become one message, so held-back text stays held back.
                yield _mask_call(item, self._secrets) if isinstance(item, ToolCall) else item
            if rest := text.flush():
                yield rest
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()


def _mask_call(call: ToolCall, secrets: tuple[str, ...]) -> ToolCall:
    shown = {"name": mask(call.name, secrets), "arguments": mask(call.arguments, secrets)}
    return call if (call.name, call.arguments) == tuple(shown.values()) else call.model_copy(update=shown)
