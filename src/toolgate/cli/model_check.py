"""Tries the configured model for `toolgate doctor`: with one short request."""

import asyncio
import os
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from toolgate.errors import ModelError
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.settings import Settings

SECONDS: Final = 30.0
"""Seconds that the model has for the beginning of its answer."""


class ModelFinding(NamedTuple):
    """What was found out about the model."""

    state: Literal["ok", "missing", "broken"]
    finding: str
    advice: str = ""


def try_model(settings: "Settings") -> ModelFinding:
    """Ask the configured model for one word."""
    from toolgate.models import model_settings

    try:
        chosen = model_settings(None, settings.model, os.environ)
    except ModelError as error:
        return ModelFinding("broken", error.cause, error.advice)
    if chosen.provider == "offline":
        return ModelFinding(
            "missing",
            translate("none is configured: only the offline model answers"),
            translate("toolgate chat, then /model, sets one up."),
        )
    return asyncio.run(_tried(chosen))


async def _tried(settings: Any) -> ModelFinding:
    from toolgate.models import ModelRequest, model_from_settings

    model: Any = model_from_settings(settings)
    where = f"{model.name}{f' at {settings.base_url}' if settings.base_url else ''}"
    began = time.monotonic()
    try:
        async with asyncio.timeout(SECONDS), aclosing(model.stream(ModelRequest(_QUESTION))) as items:
            async for _ in items:
                break
    except ModelError as error:
        return ModelFinding("broken", f"{where}: {error.code}: {error.cause}", error.advice)
    except TimeoutError:
        return ModelFinding(
            "broken",
            translate("{where}: no answer within {seconds} s", where=where, seconds=f"{SECONDS:g}"),
            translate("Check that its server runs."),
        )
    finally:
        if hasattr(model, "aclose"):
            await model.aclose()
    return ModelFinding(
        "ok", translate("{where} answers ({seconds} s)", where=where, seconds=f"{time.monotonic() - began:.1f}")
    )


_QUESTION = [{"role": "user", "content": "Answer with the word OK."}]
