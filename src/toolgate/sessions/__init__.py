"""Sessions: their log, their messages, who may write to them, and what is remembered across them.

Lives here: the tables, units of work on them, leases, transcripts, approvals, and the SQLite and PostgreSQL drivers.
May touch: the database, and the file of a SQLite database; files of a project only through `workspace/`.
Start reading: `store.py` (`SessionStore`), then `manager.py` (in a database) and `event_log.py` (writing events).
"""

from toolgate.errors import (
    ChoiceNotOffered,
    MessageTooLarge,
    ModeNotEnabled,
    SessionBusy,
    SessionError,
    SessionFenced,
    SessionNotFound,
    StoreError,
)
from toolgate.sessions.database import Database
from toolgate.sessions.in_memory import InMemorySessions
from toolgate.sessions.manager import SessionManager
from toolgate.sessions.notes import Memory
from toolgate.sessions.store import SessionStore
from toolgate.sessions.types import (
    ApprovalRow,
    AskedApproval,
    CallRow,
    Context,
    Event,
    Lease,
    ListedSession,
    Message,
    Permission,
    Recovery,
    Session,
    SessionPermissions,
    StartedTurn,
    StoredHandoff,
    Turn,
    TurnTotals,
    Usage,
)

__all__ = [
    "ApprovalRow",
    "AskedApproval",
    "CallRow",
    "ChoiceNotOffered",
    "Context",
    "Database",
    "Event",
    "InMemorySessions",
    "Lease",
    "ListedSession",
    "Memory",
    "Message",
    "MessageTooLarge",
    "ModeNotEnabled",
    "Permission",
    "Recovery",
    "Session",
    "SessionBusy",
    "SessionError",
    "SessionFenced",
    "SessionManager",
    "SessionNotFound",
    "SessionPermissions",
    "SessionStore",
    "StartedTurn",
    "StoreError",
    "StoredHandoff",
    "Turn",
    "TurnTotals",
    "Usage",
]
