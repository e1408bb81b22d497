"""Finds a session by its id or the beginning of its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.compose import Stack
    from toolgate.protocol.modes import ToolMode
    from toolgate.sessions import Session, SessionManager

SHORT = 13
"""Characters of an id that usually identify it: it begins with its creation time."""
_MAX_SESSIONS = 100_000
_MAX_NAMED = 5


async def find(sessions: SessionManager, typed: str, *, in_chat: bool = False) -> Session:
    """Return the only session whose id begins with `typed`. Raises `UsageError` if there is none or several."""
    wanted = typed.strip().lower()
    found = [
        session for session in await sessions.list(children=True, limit=_MAX_SESSIONS) if session.id.startswith(wanted)
    ]
    exact = [session for session in found if session.id == wanted]
    if exact:
        return exact[0]
    if not wanted or not found:
        if in_chat:
            raise UsageError(translate("there is no session {typed}; /sessions shows them", typed=repr(typed)))
        raise UsageError(translate("there is no session {typed}; toolgate sessions list shows them", typed=repr(typed)))
    if len(found) > 1:
        some = ", ".join(session.id for session in found[:_MAX_NAMED])
        rest = len(found) - _MAX_NAMED
        more = translate(" and {count} more", count=rest) if rest > 0 else ""
        raise UsageError(
            translate(
                "{typed} is the beginning of {count} sessions: {some}{more}; type more of it",
                typed=repr(typed),
                count=len(found),
                some=some,
                more=more,
            )
        )
    return found[0]


async def latest(stack: Stack, mode: ToolMode | None, *, interactive: bool) -> Session | None:
    """Return the project's session used last, of a mode if given; `interactive` leaves out those of --print."""
    return await stack.sessions.latest(stack.user, stack.project, mode, interactive=interactive)


def short(session_id: str) -> str:
    """Return the short form of an id."""
    return session_id[:SHORT]
