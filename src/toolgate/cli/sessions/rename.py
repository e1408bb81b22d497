"""Renames a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.sessions import Session, SessionStore
    from toolgate.settings import Settings


async def rename(sessions: SessionStore, session: Session, title: str, settings: Settings) -> str:
    """Rename the session; return the stored title: one line, with Toolgate's own secrets masked."""
    from toolgate.protocol.requests import MAX_TITLE
    from toolgate.text.redaction import mask, secrets_of

    words = " ".join(title.split())
    if not words or len(words) > MAX_TITLE:
        raise UsageError(translate("a title has 1 to {longest_title} characters", longest_title=MAX_TITLE))
    kept: str = mask(words, secrets_of(settings))
    await sessions.rename(session.id, kept)
    return kept
