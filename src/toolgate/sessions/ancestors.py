"""The session that a sub-agent's session descends from."""

from toolgate.sessions.store import SessionStore


async def top_session(sessions: SessionStore, session_id: str) -> str:
    """The session that a person talks to: the session itself, or the first ancestor of a sub-agent's."""
    while (parent := (await sessions.get(session_id)).parent_id) is not None:
        session_id = parent
    return session_id
