"""A model whose answers never have the runtime's own secrets in them, also where one comes in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator

from toolgate.models.base import ModelClient, ModelItem, ModelRequest
from toolgate.protocol.calls import ToolCall
from toolgate.runtime.redaction import MARK, mask, pattern_of

_SHOWN = 3
"""Characters of what may become a secret that are shown before the rest is held back."""


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
    arguments = mask(call.arguments, secrets)
    return call if arguments == call.arguments else call.model_copy(update={"arguments": arguments})


class MaskedText:
    """Text that comes in pieces."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._pattern = pattern_of(secrets)
        self._secrets = secrets
        self._longest = max(map(len, secrets))
        self._firsts = {secret[: _SHOWN + 1] for secret in secrets}
        self._seen = ""
        """The last characters that were passed on."""
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be passed on of the text so far."""
        text = self._seen + self._held + piece
        passed, begin, masked_to = [], len(self._seen), 0
        for found in self._pattern.finditer(text):
            if found.end() > begin:
                passed += [text[begin : max(found.start(), begin)], MARK]
                begin = masked_to = found.end()
        end = max(begin, self._doubtful(text))
        passed.append(text[begin:end])
        self._held = text[end:]
        self._seen = text[max(masked_to, end - _SHOWN) : end]
        return "".join(passed)

    def _doubtful(self, text: str) -> int:
        """Where the end of the text begins that may be the beginning of a secret, but for what may be shown of it."""
        tail = len(text) - self._longest
        best = len(text)
        for first in self._firsts:
            start = text.find(first, max(0, tail))
            while start >= 0:
                if any(secret.startswith(text[start:]) for secret in self._secrets):
                    best = min(best, start + _SHOWN)
                    break
                start = text.find(first, start + 1)
        return best

    def rest(self) -> str:
        """What was held back; nothing follows it."""
        held, self._held, self._seen = self._held, "", ""
        return held
