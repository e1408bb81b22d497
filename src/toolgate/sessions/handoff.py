"""State needed to resume a session, besides its transcript."""

from __future__ import annotations

from toolgate.sessions import permissions
from toolgate.sessions.driver import Transaction
from toolgate.sessions.types import StoredHandoff

_SESSION = (
    "SELECT s.project, h.state, s.rewound_by FROM sessions s LEFT JOIN shells h ON h.session_id = s.id WHERE s.id = ?1"
)


def read(transaction: Transaction, session_id: str, project: str | None) -> StoredHandoff:
    """What the person has allowed for the rest of the session, and the stored state of its shell and files.

    With a `project`, a session of another project gets no state: the same command may do something else there.
    """
    row = transaction.row(_SESSION, session_id)
    if row is None:
        return StoredHandoff()
    found = permissions.read(transaction, session_id, project)
    if project is not None and row[0] not in ("", project):
        return StoredHandoff(permissions=found, rewound_by=row[2])
    allowed = tuple(permission.fingerprint for permission in found.permissions if permission.choice == "call")
    return StoredHandoff(allowed=allowed, handoff_state=row[1] or "", permissions=found, rewound_by=row[2])


def store(transaction: Transaction, session_id: str, handoff_state: str | None) -> None:
    """Store the state that is needed to resume the session. None keeps the stored one; empty removes it."""
    if handoff_state:
        transaction.run(
            "INSERT INTO shells (session_id, state) VALUES (?1, ?2) "
            "ON CONFLICT (session_id) DO UPDATE SET state = excluded.state",
            *(session_id, handoff_state),
        )
    elif handoff_state is not None:
        transaction.run("DELETE FROM shells WHERE session_id = ?1", session_id)
