"""Live output of commands: a worker writes it beside the log in pieces, and gateways show it.

The table is unlogged, is written at most ten times per second, holds no more than a screen can show, and is emptied
when the turn ends. The result of the call is in the log.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate.sessions.event_log import clean

if TYPE_CHECKING:
    from toolgate.sessions.driver import Transaction
    from toolgate.sessions.types import Lease

MAX_CHARACTERS = 64 * 1024
"""Characters that one write stores at most; older ones are left out."""
_PIECES = 32
"""Pieces that one write stores at most."""
_KEPT = 8 * MAX_CHARACTERS
"""Characters of a turn that stay in the table for gateways that are behind."""
_LEFT_OUT = "left_out"
"""Stands in the place of a stream: the row says how many characters of a call were left out before the next one."""


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """A piece of a call's output."""

    call_id: str
    stream: str
    text: str
    left_out: int = 0
    """Characters before it that were left out."""


class OutputBuffer:
    """Collects output between two writes, in bounded memory."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[str, str, list[str]]] = deque()
        self._size = 0
        self._left_out: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, call_id: str, stream: str, text: str) -> None:
        """Add output of a call; the oldest output is dropped if there is too much."""
        if self._pieces and self._pieces[-1][:2] == (call_id, stream):
            self._pieces[-1][2].append(text)
        else:
            self._pieces.append((call_id, stream, [text]))
        self._size += len(text)
        while self._size > MAX_CHARACTERS or len(self._pieces) > _PIECES:
            self._leave_out()

    def _leave_out(self) -> None:
        call_id, _, parts = self._pieces[0]
        if len(self._pieces) > _PIECES:
            gone = sum(map(len, parts))
            self._pieces.popleft()
        else:
            gone = min(len(parts[0]), self._size - MAX_CHARACTERS)
            parts[0] = parts[0][gone:]
            if not parts[0]:
                del parts[0]
            if not parts:
                self._pieces.popleft()
        self._size -= gone
        self._left_out[call_id] += gone

    def take(self) -> list[OutputChunk]:
        """Return the collected output and forget it."""
        pieces = [
            OutputChunk(call_id, stream, clean("".join(parts)), self._left_out.pop(call_id, 0))
            for call_id, stream, parts in self._pieces
        ]
        self.forget()
        return pieces

    def forget(self) -> None:
        """Forget everything: the call has ended, and its result is in the log."""
        self._pieces.clear()
        self._left_out.clear()
        self._size = 0


class OutputWriter:
    """Writes the output of one turn under one lease; without the session's lease it writes nothing."""

    def __init__(self, lease: Lease, turn_id: str) -> None:
        self._lease = lease
        self._name = f"{turn_id}:{lease.fence}"
        self._written: deque[tuple[int, int]] = deque()
        """The numbers of the rows in the table, with their sizes."""

    def write(self, transaction: Transaction, pieces: list[OutputChunk]) -> list[tuple[int, int]]:
        """Add pieces and return the rows that are then in the table; pass them to `note` after the commit."""
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
        """The rows in the table, after the oldest were removed where there were too many."""
        before = list(self._written)
        if before and added and added[0][0] <= before[-1][0]:
            before = []  # the server has crashed, which empties the table and restarts the numbers at 1
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
        """Remember which rows are in the table."""
        self._written = deque(written)


def joined(rows: list[tuple[str, str, str]]) -> list[OutputChunk]:
    """The pieces that these rows of the table describe."""
    pieces, left_out = [], 0
    for call_id, stream, content in rows:
        if stream == _LEFT_OUT:
            left_out += int(content)
        else:
            pieces.append(OutputChunk(call_id, stream, content, left_out))
            left_out = 0
    return pieces
