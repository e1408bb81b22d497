"""Lets the model summarise the older part of a conversation, and turns the summary into messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from toolgate.agent.compaction import tokens_of
from toolgate.agent.reply import Reply, ask
from toolgate.errors import ModelError
from toolgate.models.base import ModelRequest
from toolgate.protocol.content import SHOWN, described, noted
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from toolgate.agent.dependencies import TurnDependencies

Message = dict[str, Any]

MAX_SUMMARY_BYTES: Final = 24_000
_QUOTED: Final = 0.25
"""The part of the limit that the person's own words may take."""
_RECORD: Final = 0.6
"""The part of the limit that the record to summarise may take."""
_MIN_CHARACTERS: Final = 200
"""Characters that are always left of a message."""
_SUMMARY = "[Summary of the conversation up to here. The original messages are stored.]\n\n"
_WORDS = "[What the user said up to here, in their own words.]\n\n"


async def write_summary(
    dependencies: TurnDependencies, before: str, messages: Sequence[Message], limit: int
) -> tuple[str, Reply]:
    """Let the model summarise messages, with the summary `before` them. Raises `ModelError`."""
    record = _record(before, messages, int(limit * _RECORD) * 4)
    asked = [
        {"role": "system", "content": load_text(__file__)},
        {"role": "user", "content": f"<record>\n{record}\n</record>\n\nWrite the summary now."},
    ]
    reply = Reply()
    max_bytes = min(MAX_SUMMARY_BYTES, dependencies.settings.max_answer_bytes)
    retries = min(1, dependencies.settings.retries)
    await ask(
        dependencies.model,
        ModelRequest(asked),
        reply,
        lambda _: None,
        retries=retries,
        wait=dependencies.first_wait,
        max_bytes=max_bytes,
    )
    text = reply.text.strip()
    if not text or reply.reason == "refusal":
        raise ModelError("MODEL_PROTOCOL", "The model wrote no summary.")
    return text, reply


def summary_messages(summary: str, quoted: Sequence[str], limit: int) -> list[Message]:
    """The messages that replace the summarised part: the person's words as the user, the summary as the assistant."""
    if not summary:
        return []
    words = "\n\n".join(_fitted(quoted, int(limit * _QUOTED) * 4))
    user = [{"role": "user", "content": f"{_WORDS}{words}"}] if words else []
    return [*user, {"role": "assistant", "content": f"{_SUMMARY}{summary}"}]


def _fitted(texts: Sequence[str], characters: int) -> list[str]:
    """All texts within a number of characters: the longest are shortened first, to the same length."""
    lengths = sorted(len(text) for text in texts)
    left, allowed = characters, lengths[-1] if lengths else 0
    for number, length in enumerate(lengths):
        share = left // (len(lengths) - number)
        if length > share:
            allowed = share
            break
        left -= length
    return [shortened(text, max(_MIN_CHARACTERS, allowed)) for text in texts]


def shortened(text: str, characters: int) -> str:
    """A text without its middle, and a note that says so."""
    if len(text) <= characters:
        return text
    head = characters * 3 // 4
    tail = characters - head
    gap = f"\n[… {len(text) - characters:,} characters left out here; the original is stored …]\n"
    return f"{text[:head]}{gap}{text[-tail:]}"


def _record(before: str, messages: Sequence[Message], characters: int) -> str:
    """The messages as text. What is too long loses its middle, so that all of it can be read."""
    parts = [f"Summary of what came before:\n{before}"] if before else []
    for message in messages:
        text = message_text(message)
        if message["role"] == "tool":
            parts.append(f"Result of the call:\n{text}")
        elif message["role"] == "user":
            parts.append(f"User:\n{text}")
        elif text.strip():
            parts.append(f"Agent:\n{text}")
        for call in message.get("tool_calls") or ():
            function = call["function"]
            parts.append(f"Agent calls {function['name']}: {function['arguments']}")
    return "\n\n".join(_fitted(parts, characters))


def message_text(message: Message) -> str:
    """The text of a message, with the names of its pictures, which a summary cannot show."""
    images = message.get("images")
    text = message.get("content") or ""
    return noted(text, f"{SHOWN}: {described(images)}") if images else text


def size_of(messages: Sequence[Message]) -> int:
    """The approximate number of tokens of messages."""
    return sum(map(tokens_of, messages))
