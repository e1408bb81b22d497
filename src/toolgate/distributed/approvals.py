"""What a sub-agent on a worker was allowed before another worker resumed it."""

from __future__ import annotations

from toolgate.sessions.approvals import repeatable_id
from toolgate.sessions.driver import Transaction


def allowed_before(transaction: Transaction, session_id: str, turn_id: str, agent: str, asked_in: str) -> list[str]:
    """The fingerprints that a sub-agent was allowed for the rest of its turn.

    Its approval requests are in its parent's session. The id of each one tells which call of which child it is for.
    """
    rows = transaction.rows(
        "SELECT a.id, a.call_id, c.ordinal, a.fingerprint FROM approvals a JOIN tool_calls c "
        "ON c.session_id = ?1 AND c.turn_id = ?2 AND c.call_id = a.call_id "
        "WHERE a.session_id = ?3 AND a.state = 'allowed' AND a.remember = 1 AND a.choice = 'call' AND a.agent = ?4",
        *(session_id, turn_id, asked_in, agent),
    )
    return [
        fingerprint
        for identifier, call_id, ordinal, fingerprint in rows
        if identifier == repeatable_id(session_id, turn_id, call_id, ordinal, fingerprint)
    ]
