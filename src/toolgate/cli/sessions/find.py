"""Finding a session by what a person types: an id, or the beginning of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.cli.guard import UsageError

if TYPE_CHECKING:
    from toolgate.compose import Stack
    from toolgate.sessions import Session, SessionManager

SHORT = 13
"""Characters of an id that tell it from others: it begins with the millisecond in which it was made."""
_MOST = 100_000
_NAMED = 5


async def find(sessions: SessionManager, typed: str) -> Session:
    """The one session whose id begins so; none and several are errors that say what there is."""
    wanted = typed.strip().lower()
    found = [session for session in await sessions.list(children=True, limit=_MOST) if session.id.startswith(wanted)]
    exact = [session for session in found if session.id == wanted]
    if exact:
        return exact[0]
    if not wanted or not found:
        raise UsageError(f"there is no session {typed!r}; toolgate sessions list shows them")
    if len(found) > 1:
        some = ", ".join(session.id for session in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise UsageError(f"{typed!r} is the beginning of {len(found)} sessions: {some}{more}; type more of it")
    return found[0]


async def latest(stack: Stack) -> Session | None:
    """The session of this user and project that was used last."""
    found = await stack.sessions.list(user=stack.user, project=stack.project, limit=1)
    return found[0] if found else None


def short(session_id: str) -> str:
    """An id as it is shown where there is little room."""
    return session_id[:SHORT]
