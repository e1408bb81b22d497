"""One answer of the model: streamed on as it comes, asked for again where that may help."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from toolgate.errors import ModelError
from toolgate.log import logger
from toolgate.models.base import ModelClient, ModelItem, ModelRequest, ModelStop, ModelUsage
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import is_unicode, scrub
from toolgate.runtime.tracing import Span, span

FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
_CUT = "\n\n[The answer was cut: the model's output limit was reached.]"
_DECLINED = "[The model declined to answer.]"


@dataclass(slots=True)
class Reply:
    """What has come so far."""

    parts: list[str] = field(default_factory=list)
    half: str = ""
    """The first half of a character whose second half comes with the next piece: servers cut text anywhere."""
    calls: list[ToolCall] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    reason: str = "stop"

    @property
    def text(self) -> str:
        """All of it; put together when it is asked for, because a long answer comes in very many pieces."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


async def ask(
    model: ModelClient,
    request: ModelRequest,
    reply: Reply,
    show: Callable[[str], None],
    *,
    retries: int,
    wait: float = FIRST_WAIT,
) -> None:
    """Fill `reply`, showing its text; a failure that may pass is tried again as long as nothing was shown.

    Whatever a client raises becomes a `ModelError`; how far the answer got is in `reply`.
    """
    name = str(getattr(model, "name", ""))
    with span("chat", name, gen_ai__request__model=name) as asked:
        await _ask(model, request, reply, show, retries, wait, asked)
        asked.note(gen_ai__usage__input_tokens=reply.input_tokens, gen_ai__usage__output_tokens=reply.output_tokens)
    _close(reply, show)


async def _ask(
    model: ModelClient,
    request: ModelRequest,
    reply: Reply,
    show: Callable[[str], None],
    retries: int,
    wait: float,
    asked: Span,
) -> None:
    for attempt in range(retries + 1):
        try:
            await _stream(model, request, reply, show)
            return
        except ModelError as error:
            if not error.retryable or attempt == retries or reply.text:
                asked.failed(error.code)
                raise
            pause = error.retry_after if error.retry_after is not None else wait * 2**attempt * random.uniform(0.8, 1.2)
            logger("agent").info("model_retry", code=error.code, attempt=attempt + 1, seconds=round(pause, 2))
            reply.calls.clear()
            reply.half = ""
            await asyncio.sleep(min(pause, LONGEST_WAIT))


async def _stream(model: ModelClient, request: ModelRequest, reply: Reply, show: Callable[[str], None]) -> None:
    try:
        async with _closing(model.stream(request)) as items:
            async for item in items:
                _take(item, reply, show)
    except (ModelError, asyncio.CancelledError):
        raise
    except Exception as error:
        logger("agent").error("model_failed", error=type(error).__name__, exc_info=error)
        raise ModelError("MODEL_PROTOCOL", f"The model's client failed ({type(error).__name__}).") from error


@contextlib.asynccontextmanager
async def _closing(items: AsyncIterator[ModelItem]) -> AsyncIterator[AsyncIterator[ModelItem]]:
    """Lets go of the connection however the iteration ends."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


def _take(item: Any, reply: Reply, show: Callable[[str], None]) -> None:
    if isinstance(item, str):
        _add(item, reply, show)
    elif isinstance(item, ToolCall):
        reply.calls.append(_usable(item))
    elif isinstance(item, ModelUsage):
        reply.input_tokens += item.input_tokens
        reply.output_tokens += item.output_tokens
    elif isinstance(item, ModelStop):
        reply.reason = item.reason
    else:
        raise ModelError("MODEL_PROTOCOL", f"The model's client yielded {type(item).__name__}.")


def _add(piece: str, reply: Reply, show: Callable[[str], None]) -> None:
    """Text that can be shown, stored and sent back: halves of characters are put together, lone ones replaced."""
    text, reply.half = reply.half + piece, ""
    if not is_unicode(text):
        if "\ud800" <= text[-1] <= "\udbff":
            text, reply.half = text[:-1], text[-1]
        text = scrub(text)
    if text:
        reply.parts.append(text)
        show(text)


def _usable(call: ToolCall) -> ToolCall:
    """A call with an id, in text that can be stored and sent back."""
    fields = {"id": call.id or f"call_{uuid7()}", "name": call.name, "arguments": call.arguments}
    if call.id and all(map(is_unicode, fields.values())):
        return call
    return ToolCall(**scrub(fields))


def _close(reply: Reply, show: Callable[[str], None]) -> None:
    """Say it in words where an answer is not whole."""
    note = "\ufffd" if reply.half else ""
    reply.half = ""
    if reply.reason == "length" and not reply.calls:
        note += _CUT
    elif reply.reason == "refusal" and not reply.text.strip():
        note = _DECLINED
    if note:
        reply.parts.append(note)
        show(note)
