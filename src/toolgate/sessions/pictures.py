"""Stores the bytes of pictures. Messages refer to them by their hash."""

from __future__ import annotations

from collections.abc import Sequence

from toolgate.errors import SessionNotFound, TooManyPictures
from toolgate.protocol.content import ImageContent
from toolgate.sessions import transcript
from toolgate.sessions.driver import Transaction
from toolgate.sessions.schema import SPAN, Dialect

MAX_UNNAMED = 20
"""Maximum number of pictures of a session that no message names; beyond it, the oldest of them is removed."""
MAX_BYTES = 256 << 20
"""Maximum size of the pictures of one session, in bytes, when a person adds one."""
_NAMED = (
    "SELECT m.images FROM events e JOIN messages m ON m.id = e.id "
    f"WHERE e.place >= (SELECT number * {SPAN} FROM sessions WHERE id = ?1) "
    f"AND e.place < (SELECT (number + 1) * {SPAN} FROM sessions WHERE id = ?1) AND m.images IS NOT NULL"
)
_KEEP = (
    "INSERT INTO pictures (session_id, sha256, media_type, data) VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT (session_id, sha256) DO NOTHING"
)
_DELETE = "DELETE FROM pictures WHERE session_id = ?1 AND sha256 = ?2"
_OLDEST_FIRST: dict[Dialect, str] = {"sqlite": "rowid", "postgresql": "age(xmin) DESC"}
"""The order in which rows were stored, as the database itself knows it: the table has no column for it."""


def keep(transaction: Transaction, session_id: str, images: Sequence[ImageContent]) -> None:
    """Store pictures; the same bytes are stored once per session."""
    for image in images:
        transaction.run(_KEEP, session_id, image.sha256, image.media_type, image.data)


def add(transaction: Transaction, session_id: str, image: ImageContent) -> None:
    """Store a picture that no message names yet; `SessionNotFound` if there is no such session, `TooManyPictures`."""
    if transaction.row("SELECT 1 FROM sessions WHERE id = ?1", session_id) is None:
        raise SessionNotFound(f"There is no session {session_id!r}.")
    sizes = _sizes(transaction, session_id)
    if len(sizes) >= MAX_UNNAMED and image.sha256 not in sizes:
        _make_room(transaction, session_id, sizes, len(image.data))
    transaction.run(_DELETE, session_id, image.sha256)  # stored anew, so that it counts as the newest
    keep(transaction, session_id, [image])


def _make_room(transaction: Transaction, session_id: str, sizes: dict[str, int], size: int) -> None:
    """Remove the oldest pictures that no message names, if there are too many of them; `TooManyPictures`."""
    named = _named(transaction, session_id)
    unnamed = [sha256 for sha256 in sizes if sha256 not in named]
    used = sum(sizes.values()) + size
    if len(unnamed) >= MAX_UNNAMED:
        while unnamed and (len(unnamed) >= MAX_UNNAMED or used > MAX_BYTES):
            oldest = unnamed.pop(0)
            transaction.run(_DELETE, session_id, oldest)
            used -= sizes[oldest]
    if used > MAX_BYTES:
        raise TooManyPictures(
            f"The pictures of this session have {MAX_BYTES >> 20} MiB, which is the limit: begin another session."
        )


def _sizes(transaction: Transaction, session_id: str) -> dict[str, int]:
    """The stored pictures by hash, and how many bytes each has. The oldest is the first."""
    order = _OLDEST_FIRST[transaction.dialect]
    sql = f"SELECT sha256, LENGTH(data) FROM pictures WHERE session_id = ?1 ORDER BY {order}"
    rows = transaction.rows(sql, session_id)
    return {str(sha256): int(size) for sha256, size in rows}


def _named(transaction: Transaction, session_id: str) -> set[str]:
    """The pictures that messages name, also those of messages that were taken back."""
    rows = transaction.rows(_NAMED, session_id)
    return {image.sha256 for (images,) in rows for image in transcript.images_of(images)}


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
