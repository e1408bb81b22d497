"""What commands print while they run: a worker writes it beside the log in pieces, gateways show it.

It is in an unlogged table, is written at most ten times a second and never more than a screen could show, and is gone
with the turn: what counts is the result, which is in the log.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.sessions.event_log import clean

if TYPE_CHECKING:
    from toolgate.sessions.driver import Transaction
    from toolgate.sessions.types import Lease

MOST = 64 * 1024
"""Characters that are written at once: the newest ones."""
_PIECES = 32
"""Pieces that are written at once."""
_KEPT = 8 * MOST
"""Characters of a turn that stay in the table for gateways that are behind."""
_LEFT_OUT = "left_out"
"""In place of a stream: how much of a call was left out before what follows."""


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """Some of what a call printed."""

    call_id: str
    stream: str
    text: str
    left_out: int = 0
    """Characters before it that were not written."""


class OutputBuffer:
    """Collects what is printed from one write to the next, in bounded memory."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[str, str, list[str]]] = deque()
        self._size = 0
        self._left_out: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, call_id: str, stream: str, text: str) -> None:
        """Take in what a call prints; the oldest goes where it becomes too much."""
        if self._pieces and self._pieces[-1][:2] == (call_id, stream):
            self._pieces[-1][2].append(text)
        else:
            self._pieces.append((call_id, stream, [text]))
        self._size += len(text)
        while self._size > MOST or len(self._pieces) > _PIECES:
            self._leave_out()

    def _leave_out(self) -> None:
        call_id, _, parts = self._pieces[0]
        if len(self._pieces) > _PIECES:
            gone = sum(map(len, parts))
            self._pieces.popleft()
        else:
            gone = min(len(parts[0]), self._size - MOST)
            parts[0] = parts[0][gone:]
            if not parts[0]:
                del parts[0]
            if not parts:
                self._pieces.popleft()
        self._size -= gone
        self._left_out[call_id] += gone

    def take(self) -> list[OutputChunk]:
        """What there is, which is then forgotten."""
        pieces = [
            OutputChunk(call_id, stream, clean("".join(parts)), self._left_out.pop(call_id, 0))
            for call_id, stream, parts in self._pieces
        ]
        self.forget()
        return pieces

    def forget(self) -> None:
        """The call has ended, and its result says everything."""
        self._pieces.clear()
        self._left_out.clear()
        self._size = 0


class OutputWriter:
    """Writes the pieces of one turn under one lease: who has lost the session writes nothing."""

    def __init__(self, lease: Lease, turn_id: str) -> None:
        self._lease = lease
        self._name = f"{turn_id}:{lease.fence}"
        self._written: deque[tuple[int, int]] = deque()
        """Numbers of what is in the table, with its size."""

    def write(self, transaction: Transaction, pieces: list[OutputChunk]) -> list[tuple[int, int]]:
        """Add the pieces; returns what is in the table, for `note` once it is durable."""
        rows = []
        for piece in pieces:
            if piece.left_out:
                rows.append((piece.call_id, _LEFT_OUT, str(piece.left_out)))
            rows.append((piece.call_id, piece.stream, piece.text))
        added = []
        for call_id, stream, content in rows:
            found = transaction.row(
                "INSERT INTO live_output (session_id, turn_id, call_id, stream, content) "
                "SELECT id, ?4, ?5, ?6, ?7 FROM sessions WHERE id = ?1 AND fence = ?2 AND lease_owner = ?3 "
                "RETURNING number",
                *(self._lease.session_id, self._lease.fence, self._lease.owner, self._name),
                *(clean(call_id), stream, content),
            )
            if found is not None:
                added.append((int(found[0]), len(content)))
        return self._thinned(transaction, added)

    def _thinned(self, transaction: Transaction, added: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """What is in the table, after the oldest was removed where it was too much."""
        before = list(self._written)
        if before and added and added[0][0] <= before[-1][0]:
            before = []  # the server has crashed, which empties the table and begins at 1 again
        kept = deque([*before, *added])
        size, last = sum(length for _, length in kept), 0
        while size > _KEPT:
            last, length = kept.popleft()
            size -= length
        if last:
            sql = "DELETE FROM live_output WHERE session_id = ?1 AND number <= ?2"
            transaction.run(sql, self._lease.session_id, last)
        return list(kept)

    def note(self, written: list[tuple[int, int]]) -> None:
        """This is in the table now."""
        self._written = deque(written)


def joined(rows: list[tuple[str, str, str]]) -> list[OutputChunk]:
    """The pieces that rows of the table stand for."""
    pieces, left_out = [], 0
    for call_id, stream, content in rows:
        if stream == _LEFT_OUT:
            left_out += int(content)
        else:
            pieces.append(OutputChunk(call_id, stream, content, left_out))
            left_out = 0
    return pieces
