"""The words for a model that is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.language.translate import translatable, translate

if TYPE_CHECKING:
    from toolgate.agent import ModelRetry

_REASONS = {
    "MODEL_RATE_LIMIT": translatable("rate-limited"),
    "MODEL_UNAVAILABLE": translatable("the model does not answer"),
}


def describe_retry(event: ModelRetry) -> str:
    """Say why and when the model is asked again; `{seconds}` stands for the time that is left."""
    why = translate(_REASONS.get(event.code, translatable("the model failed")))
    return translate(
        "{why}, retrying in {seconds} ({attempt} of {of})",
        why=why,
        seconds="{seconds}",
        attempt=event.attempt,
        of=event.of,
    )
