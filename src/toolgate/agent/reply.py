"""One answer of the model: it is streamed as it arrives, and requested again after a temporary failure."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from toolgate.errors import ModelError
from toolgate.log import logger
from toolgate.models.base import ModelClient, ModelItem, ModelRequest, ModelStop, ModelUsage
from toolgate.models.deadlines import FairShare
from toolgate.models.tool_calls import MAX_ARGUMENTS_BYTES, MAX_CALLS, too_many_calls
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.ids import uuid7
from toolgate.protocol.jsontext import is_unicode, scrub
from toolgate.runtime.tracing import Span, span

OnRetry = Callable[[int, int, float, ModelError], Awaitable[None]]
"""Called with the number of the retry, how many there are, the seconds until then, and the reason."""

FIRST_WAIT = 0.5
MAX_WAIT = 60.0
MAX_ANSWER = 1_000_000
"""Bytes of one answer's text. A message may be a little longer, because of the note that says where it was cut."""
_MAX_NAME = 200
"""The longest call id and the longest tool name, in characters."""
_CUT = "\n\n[The answer was cut: the model's output limit was reached.]"
_TOO_LONG = "\n\n[The answer was cut: it was longer than {max_bytes} bytes.]"
_DECLINED = "[The model declined to answer.]"


class Reply:
    """The answer so far."""

    def __init__(self, text: str = "") -> None:
        self.parts = [text] if text else []
        self.half = ""
        """The first half of a surrogate pair; the second comes with the next piece: servers split text anywhere."""
        self.calls: list[ToolCall] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self.reason = "stop"
        self.size = 0
        """Bytes of the text."""

    @property
    def text(self) -> str:
        """The whole text. The pieces are joined on demand, because a long answer has very many of them."""
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
    max_bytes: int = MAX_ANSWER,
    on_retry: OnRetry | None = None,
) -> None:
    """Fill `reply` and show its text. A temporary failure is retried as long as nothing was shown.

    `on_retry` is called before each pause. A provider that asks for a longer pause than `MAX_WAIT` is not asked
    again. Whatever the client raises becomes a `ModelError`; the partial answer is in `reply`. Text beyond `max_bytes`
    bytes is cut, with a note that says so.
    """
    name = str(getattr(model, "name", ""))
    with span("chat", name, gen_ai__request__model=name) as asked:
        await _ask(model, request, reply, show, retries, wait, max_bytes, asked, on_retry)
        asked.note(gen_ai__usage__input_tokens=reply.input_tokens, gen_ai__usage__output_tokens=reply.output_tokens)
    _close(reply, show, max_bytes)


async def _ask(
    model: ModelClient,
    request: ModelRequest,
    reply: Reply,
    show: Callable[[str], None],
    retries: int,
    wait: float,
    max_bytes: int,
    asked: Span,
    on_retry: OnRetry | None,
) -> None:
    for attempt in range(retries + 1):
        try:
            await _stream(model, request, reply, show, max_bytes)
            return
        except ModelError as error:
            pause = error.retry_after if error.retry_after is not None else wait * 2**attempt * random.uniform(0.8, 1.2)
            too_long = error.retry_after is not None and pause > MAX_WAIT
            if not error.retryable or attempt == retries or reply.text or too_long:
                asked.failed(error.code)
                if too_long:
                    _name_pause(error)
                raise
            pause = min(pause, MAX_WAIT)
            logger("agent").info("model_retry", code=error.code, attempt=attempt + 1, seconds=round(pause, 2))
            reply.calls.clear()
            reply.half = ""
            if on_retry is not None:
                await on_retry(attempt + 1, retries, pause, error)
            await asyncio.sleep(pause)


def _name_pause(error: ModelError) -> None:
    """Say how long the provider wants to be left alone."""
    error.advice = f"The provider asks to wait {error.retry_after:.0f} seconds. Send the message again then."
    error.message = f"{error.cause} {error.advice}"


async def _stream(
    model: ModelClient, request: ModelRequest, reply: Reply, show: Callable[[str], None], max_bytes: int
) -> None:
    share = FairShare()
    try:
        async with _closing(model.stream(request)) as items:
            async for item in items:
                _take(item, reply, show, max_bytes)
                if reply.size > max_bytes:
                    reply.reason = "too_long"
                    return
                await share.give_way()
    except (ModelError, asyncio.CancelledError):
        raise
    except Exception as error:
        logger("agent").error("model_failed", error=type(error).__name__, exc_info=error)
        raise ModelError("MODEL_PROTOCOL", f"The model's client failed ({type(error).__name__}).") from error


@contextlib.asynccontextmanager
async def _closing(items: AsyncIterator[ModelItem]) -> AsyncIterator[AsyncIterator[ModelItem]]:
    """Closes the connection however the iteration ends."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


def _take(item: Any, reply: Reply, show: Callable[[str], None], max_bytes: int) -> None:
    if isinstance(item, str):
        _add(item, reply, show, max_bytes)
    elif isinstance(item, ToolCall):
        if len(reply.calls) == MAX_CALLS:
            raise too_many_calls()
        reply.calls.append(_usable(item))
    elif isinstance(item, ModelUsage):
        reply.input_tokens += item.input_tokens
        reply.output_tokens += item.output_tokens
    elif isinstance(item, ModelStop):
        reply.reason = item.reason
    else:
        raise ModelError("MODEL_PROTOCOL", f"The model's client yielded {type(item).__name__}.")


def _add(piece: str, reply: Reply, show: Callable[[str], None], max_bytes: int) -> None:
    """Text that can be shown, stored and sent: surrogate pairs are joined, and lone surrogates are replaced."""
    text, reply.half = reply.half + piece, ""
    if not is_unicode(text):
        if "\ud800" <= text[-1] <= "\udbff":
            text, reply.half = text[:-1], text[-1]
        text = scrub(text)
    left = max_bytes - reply.size
    reply.size += len(text) if text.isascii() else len(text.encode())
    if reply.size > max_bytes:
        text = text.encode()[: max(0, left)].decode("utf-8", "ignore")
    if text:
        reply.parts.append(text)
        show(text)


def _usable(call: ToolCall) -> ToolCall:
    """A call whose id and name have a normal length and can be stored and sent."""
    usual = 0 < len(call.id) <= _MAX_NAME and len(call.name) <= _MAX_NAME
    short = len(call.arguments) <= MAX_ARGUMENTS_BYTES + 1
    if usual and short and is_unicode(call.id + call.name) and is_unicode(call.arguments):
        return call
    fields = {
        "id": call.id if 0 < len(call.id) <= _MAX_NAME else f"call_{uuid7()}",
        "name": call.name[:_MAX_NAME],
        "arguments": call.arguments[: MAX_ARGUMENTS_BYTES + 1],  # still too many: the call is refused
    }
    return ToolCall(**scrub(fields))


def _close(reply: Reply, show: Callable[[str], None], max_bytes: int) -> None:
    """Add a note to an answer that is incomplete."""
    note = "\ufffd" if reply.half else ""
    reply.half = ""
    if reply.reason == "too_long":
        note = _TOO_LONG.format(max_bytes=max_bytes)
    elif reply.reason == "length" and not reply.calls:
        note += _CUT
    elif reply.reason == "refusal" and not reply.text.strip():
        note = _DECLINED
    if note:
        reply.parts.append(note)
        show(note)
