"""A model whose answers never have the runtime's own secrets in them, also where one comes in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator

from toolgate.models.base import ModelClient, ModelItem, ModelRequest
from toolgate.protocol.calls import ToolCall
from toolgate.text.masking import MaskedText
from toolgate.text.redaction import mask


def masked(model: ModelClient, secrets: tuple[str, ...]) -> ModelClient:
    """The same model; where there are no secrets, the very same."""
    return MaskedModel(model, secrets) if secrets else model


class MaskedModel:
    """Passes a model's answer on, with every secret replaced."""

    def __init__(self, model: ModelClient, secrets: tuple[str, ...]) -> None:
        self._model = model
        self._secrets = secrets
        self.name = str(getattr(model, "name", ""))

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """The answer; a piece that may be the beginning of a secret waits for the next one."""
        text = MaskedText(self._secrets)
        items = self._model.stream(request)
        try:
            async for item in items:
                if isinstance(item, str):
                    if shown := text.feed(item):
                        yield shown
                    continue
                # text goes on after a call, and both pieces become one message: what is held back stays held back
                yield _without(item, self._secrets) if isinstance(item, ToolCall) else item
            if rest := text.rest():
                yield rest
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()


def _without(call: ToolCall, secrets: tuple[str, ...]) -> ToolCall:
    shown = {"name": mask(call.name, secrets), "arguments": mask(call.arguments, secrets)}
    return call if (call.name, call.arguments) == tuple(shown.values()) else call.model_copy(update=shown)
