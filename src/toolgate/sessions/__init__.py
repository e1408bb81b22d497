"""Sessions: their log, their messages, who may write to them, and what is remembered across them."""

from toolgate.errors import (
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
    Call,
    Event,
    Lease,
    Message,
    Past,
    Recovery,
    Session,
    StartedTurn,
    Turn,
    TurnTotals,
    Usage,
)

__all__ = [
    "ApprovalRow",
    "AskedApproval",
    "Call",
    "Database",
    "Event",
    "InMemorySessions",
    "Lease",
    "Memory",
    "Message",
    "MessageTooLarge",
    "ModeNotEnabled",
    "Past",
    "Recovery",
    "Session",
    "SessionBusy",
    "SessionError",
    "SessionFenced",
    "SessionManager",
    "SessionNotFound",
    "SessionStore",
    "StartedTurn",
    "StoreError",
    "Turn",
    "TurnTotals",
    "Usage",
]
