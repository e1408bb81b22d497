"""Summaries: what a model reads in place of the older part of a session. The originals stay in the log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from toolgate.protocol.content import SHOWN, described, noted
from toolgate.sessions import transcript, turns
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import EventWriter, as_json, clean
from toolgate.sessions.schema import SPAN
from toolgate.sessions.transcript_cache import CachedTranscript
from toolgate.sessions.types import Context, Lease, Message, Usage

_SUMMARY = "SELECT until, content FROM summaries WHERE session_id = ?1"
_STORE = (
    "INSERT INTO summaries (session_id, until, content) VALUES (?1, ?2, ?3) "
    "ON CONFLICT (session_id) DO UPDATE SET until = excluded.until, content = excluded.content"
)


def context(transaction: Transaction, session_id: str, known: CachedTranscript) -> Context:
    """Return what the model reads: the summary, if there is one, and the messages after the part that it covers."""
    covered, content = covered_by(transaction, session_id, known)
    rest = tuple(transcript.valid(known.messages[covered:]))
    return Context(summary=content, quoted=_user_texts(known, covered), messages=rest)


def _user_texts(known: CachedTranscript, covered: int) -> tuple[str, ...]:
    """The texts of the person's messages that the summary covers."""
    return tuple(_text(known.messages[index]) for index in known.by_user[: bisect_left(known.by_user, covered)])


def _text(message: Message) -> str:
    images = message.images
    return noted(message.content, f"{SHOWN}: {described(images)}") if images else message.content


def covered_by(transaction: Transaction, session_id: str, known: CachedTranscript) -> tuple[int, str]:
    """Return how many messages the summary covers, and the summary.

    A summary whose last message has left the transcript (the person went back) covers nothing.
    """
    row = transaction.row(_SUMMARY, session_id)
    if row is None or not known.places:
        return 0, ""
    place = known.places[0] // SPAN * SPAN + row[0]
    count = bisect_right(known.places, place)
    return (count, row[1]) if count and known.places[count - 1] == place else (0, "")


def store(
    transaction: Transaction,
    lease: Lease,
    turn_id: str,
    content: str,
    steps: int,
    known: CachedTranscript,
    tokens: tuple[int, int],
    usage: Usage,
) -> int:
    """Store a summary of everything before the `steps`-th message that is not the result of a call; return its number.

    Messages are counted from the end of the previous summary. `tokens` are the sizes before and after.
    """
    session_id, (covered, _) = lease.session_id, covered_by(transaction, lease.session_id, known)
    indexes = [index for index, message in enumerate(known.messages) if index >= covered and message.role != "tool"]
    end = indexes[steps] if steps < len(indexes) else len(known.messages)
    until = known.places[end - 1] % SPAN
    transaction.run(_STORE, session_id, until, clean(content))
    turns.store_usage(transaction, turn_id, usage)
    writer = EventWriter(transaction, session_id, lease, turn_id=turn_id)
    before, after = tokens
    payload = {"before_tokens": before, "after_tokens": after, "by": "model", "summary": content, "until_seq": until}
    return writer.event("compacted", as_json(payload))[1]


def restore(transaction: Transaction, session_id: str, lease: Lease | object | None) -> bool:
    """Remove the summary of a session, so that its model reads the originals again; False if there is none."""
    if transaction.row(_SUMMARY, session_id) is None:
        return False
    writer = EventWriter(transaction, session_id, lease)
    transaction.run("DELETE FROM summaries WHERE session_id = ?1", session_id)
    writer.event("compacted", as_json({"before_tokens": 0, "after_tokens": 0, "by": "person", "summary": ""}))
    return True
