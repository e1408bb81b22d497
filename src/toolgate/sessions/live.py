"""Live text and live output of a session, as gateways read them.

One row per session holds the text since the last message; the output of commands is in `live_output`. Both tables are
unlogged and are emptied when the turn ends. Losing them loses nothing, because the log has everything that counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolgate.sessions.driver import Transaction
from toolgate.sessions.live_output import OutputChunk, joined


@dataclass(frozen=True, slots=True)
class LiveText:
    """The message that the model is writing."""

    turn_id: str
    base: int
    """The number of the event before the message."""
    content: str
    """The whole text so far."""


@dataclass(frozen=True, slots=True)
class LiveView:
    """The live text and the live output of a session."""

    text: LiveText | None
    output: list[OutputChunk]
    number: int
    """The number of the last piece; the next read starts after it."""


_SEEN = "CASE WHEN ?2 > (SELECT MAX(number) FROM live_output WHERE session_id = ?1) THEN 0 ELSE ?2 END"
"""The number to continue after. It is 0 if the server has crashed since, because a crash restarts the numbers."""
_LOOK = (
    "SELECT 0, turn_id, base, '', '', content FROM live WHERE session_id = ?1 "
    "UNION ALL SELECT o.number, o.turn_id, 0, o.call_id, o.stream, o.content FROM live_output o "
    "JOIN sessions s ON s.id = o.session_id AND o.turn_id LIKE '%:' || s.fence "  # not of a lost lease
    f"WHERE o.session_id = ?1 AND o.number > {_SEEN} ORDER BY 1"
)


def read_live(transaction: Transaction, session_id: str, seen: int | None) -> LiveView:
    """The live text of a session, and the output after a number. Without a number, only output from now on is returned.

    This is also what a client sees that joins a turn in the gateway's own process.
    """
    if seen is None:
        row = transaction.row("SELECT COALESCE(MAX(number), 0) FROM live_output WHERE session_id = ?1", session_id)
        seen = 0 if row is None else int(row[0])
    text, rows = None, []
    for number, turn_id, base, call_id, stream, content in transaction.rows(_LOOK, session_id, seen):
        if number:
            seen = number
            rows.append((call_id, stream, content))
        else:
            text = LiveText(turn_id, base, content)
    return LiveView(text, joined(rows), seen)
