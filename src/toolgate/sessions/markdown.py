"""Exports a session as Markdown, with calls and results as code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from toolgate.protocol.content import StoredImage, described

if TYPE_CHECKING:
    from toolgate.sessions.record import SessionRecord

_TICKS = re.compile(r"`{3,}")


def as_markdown(record: SessionRecord) -> str:
    """Return the whole conversation."""
    session = record.session
    title = " ".join(session.title.split()) or "A session"
    facts = [f"Session `{session.id}`", f"mode `{session.mode.value}`"]
    facts += [f"project `{session.project}`"] if session.project else []
    parts = [f"# {title}", ", ".join(facts) + "."]
    endings = {turn.id: turn for turn in record.turns}
    uncertain = {(call.turn_id, call.call_id) for call in record.calls if call.state == "unknown"}
    for event in record.conversation:
        if event.kind == "message":
            parts += _message(event.payload, (event.turn_id or "", event.payload.get("tool_call_id", "")) in uncertain)
        elif event.kind == "turn_finished" and (turn := endings.get(event.turn_id or "")) and turn.status != "done":
            parts.append(f"*This turn is {turn.status}{f': {turn.error}' if turn.error else ''}.*")
    return "\n\n".join(parts) + "\n"


def _message(message: dict[str, Any], uncertain: bool) -> list[str]:
    if message["role"] == "tool":
        note = ["*Uncertain: it had started, and it is unknown how far it got.*"] if uncertain else []
        return [*note, _fenced(message["content"]), *_pictures(message)]
    parts = [text] if (text := message["content"].strip()) else []
    parts += _pictures(message)
    if parts:
        parts.insert(0, {"user": "## You", "assistant": "## Agent"}.get(message["role"], "## System"))
    for call in message.get("tool_calls", ()):
        parts += [f"**{call['name']}**", _fenced(call["arguments"], "json")]
    return parts


def _pictures(message: dict[str, Any]) -> list[str]:
    """Name the pictures of a message; their bytes are in the store."""
    images = message.get("images") or ()
    return [f"*Picture: {described([StoredImage(**image)])}*" for image in images]


def _fenced(text: str, language: str = "text") -> str:
    """Return a code block with a fence that the text does not contain."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"
