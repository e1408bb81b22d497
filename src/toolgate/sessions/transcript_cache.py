"""Caches transcripts, so that a turn reads only what was added since.

The log of a session only grows, so a cached part stays valid. The last cached message is read again every time: if it
is missing, the database was replaced, and everything is read again.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from toolgate.sessions import transcript
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import Message

MAX_BYTES: Final = 64 * 1024 * 1024
"""Memory that all transcripts together may take; the least recently used one is dropped first."""
_OVERHEAD: Final = 1_000
"""Bytes of a message beside its text."""


class CachedTranscript(NamedTuple):
    """A transcript as far as it was read. The lists are never changed."""

    messages: list[Message]
    turns: list[str | None]
    """The turn that each message belongs to."""
    places: list[int]
    """Where each message is in the log."""
    by_user: list[int]
    """Indexes of the messages that the person wrote."""
    place: int
    """Where the last message is in the log; 0 if there is none."""
    size: int

    def with_tail(self, transaction: Transaction, session_id: str) -> CachedTranscript:
        """Return this transcript with the messages that were added since."""
        rows = transcript.stored_from(transaction, session_id, self.place)
        if self.place:
            again = rows[:1]
            if not again or (again[0].place, again[0].message) != (self.place, self.messages[-1]):
                return NOTHING.with_tail(transaction, session_id)
            rows = rows[1:]
        if not rows:
            return self
        return CachedTranscript(
            messages=self.messages + [row.message for row in rows],
            turns=self.turns + [row.turn_id for row in rows],
            places=self.places + [row.place for row in rows],
            by_user=self.by_user + [n for n, row in enumerate(rows, len(self.messages)) if row.message.role == "user"],
            place=rows[-1].place,
            size=self.size + sum(_size(row.message) for row in rows),
        )


NOTHING: Final = CachedTranscript([], [], [], [], 0, 0)


class TranscriptCache:
    """The transcripts that were used last."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._known: OrderedDict[str, CachedTranscript] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, session_id: str) -> CachedTranscript:
        """The cached transcript of a session, or an empty one."""
        with self._lock:
            return self._known.get(session_id, NOTHING)

    def keep(self, session_id: str, known: CachedTranscript) -> None:
        """Cache what was read, and drop the least recently used transcripts beyond the limit."""
        with self._lock:
            before = self._known.pop(session_id, NOTHING)
            self._size -= before.size
            if known.place and known.size <= self._limit:
                self._known[session_id] = known
                self._size += known.size
            while self._size > self._limit:
                _, oldest = self._known.popitem(last=False)
                self._size -= oldest.size


def _size(message: Message) -> int:
    return (
        _OVERHEAD + sys.getsizeof(message.content) + sum(sys.getsizeof(call.arguments) for call in message.tool_calls)
    )
