"""The bytes of the pictures that a session's messages name, by their hash."""

from __future__ import annotations

from collections.abc import Sequence

from toolgate.errors import SessionNotFound
from toolgate.protocol.content import ImageContent
from toolgate.sessions.driver import Transaction

_KEEP = (
    "INSERT INTO pictures (session_id, sha256, media_type, data) VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT (session_id, sha256) DO NOTHING"
)


def keep(transaction: Transaction, session_id: str, images: Sequence[ImageContent]) -> None:
    """Store pictures; the same bytes are stored once per session."""
    for image in images:
        transaction.run(_KEEP, session_id, image.sha256, image.media_type, image.data)


def add(transaction: Transaction, session_id: str, image: ImageContent) -> None:
    """Store a picture that no message names yet; `SessionNotFound` if there is no such session."""
    if transaction.row("SELECT 1 FROM sessions WHERE id = ?1", session_id) is None:
        raise SessionNotFound(f"There is no session {session_id!r}.")
    keep(transaction, session_id, [image])


def read(transaction: Transaction, session_id: str, sha256: str) -> tuple[str, bytes] | None:
    """The media type and the bytes of a picture; None if the session has none with this hash."""
    sql = "SELECT media_type, data FROM pictures WHERE session_id = ?1 AND sha256 = ?2"
    row = transaction.row(sql, session_id, sha256)
    return None if row is None else (str(row[0]), bytes(row[1]))


def copy(transaction: Transaction, source: str, session_id: str) -> None:
    """Give another session the same pictures."""
    transaction.run(
        "INSERT INTO pictures (session_id, sha256, media_type, data) "
        "SELECT ?1, sha256, media_type, data FROM pictures WHERE session_id = ?2",
        *(session_id, source),
    )
