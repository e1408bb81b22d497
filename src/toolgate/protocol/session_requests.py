"""Requests about whole sessions: go back, fork, retry, archive, delete, export."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from toolgate.protocol.content import MAX_IN_A_MESSAGE
from toolgate.protocol.request_base import MAX_CONTENT, REQUEST_ID, AttachedImage, OfSession, Params

_SEQ = Field(ge=1, le=2**53, description="The `seq` of a `user_message`.")


class SessionRewind(OfSession):
    """Go back to before a message: it and everything after it leave the conversation. The log keeps all of it.

    Answers `{session_id, seq, files: {restored: [path], refused: [{path, reason}]}}`. With `files`, what was written
    since is taken back; a file that others have changed since is refused, and the rest is done.
    """

    seq: int = _SEQ
    files: bool = False


class SessionFork(OfSession):
    """Make a new session from everything before a message, or from all turns that have ended; answers `{session_id}`.

    The new session has the same user, project and mode. What was allowed for the rest of the first one is not.
    """

    seq: int | None = Field(default=None, ge=1, le=2**53, description="The `seq` of a `user_message`.")


class ChatRetry(OfSession):
    """Take the last turn again: go back to before the last message, and send it again with its pictures.

    Frames as for `chat.send`.
    """

    request_id: str | None = REQUEST_ID


class ChatResend(OfSession):
    """Go back to before the last message, and send another one instead. Frames as for `chat.send`."""

    content: str = Field(max_length=MAX_CONTENT)
    request_id: str | None = REQUEST_ID
    images: list[AttachedImage] | None = Field(
        default=None, max_length=MAX_IN_A_MESSAGE, description="As in `chat.send`; null: those of the message before."
    )


class SessionArchive(OfSession):
    """Take a session out of the list, or put it back; answers `{session_id, archived}`."""

    archived: bool


class SessionDelete(OfSession):
    """Remove a session for good, with its outputs and those of its sub-agents; answers `{session_id, deleted}`.

    `SESSION_BUSY` while a turn runs, unless `cancel` asks to end that first.
    """

    cancel: bool = False


class SessionExport(OfSession):
    """A session as one text; answers `{name, content}`. Markdown has the conversation, JSON the whole log."""

    format: Literal["markdown", "json"]


SESSION_METHODS: dict[str, type[Params]] = {
    "chat.retry": ChatRetry,
    "chat.resend": ChatResend,
    "session.rewind": SessionRewind,
    "session.fork": SessionFork,
    "session.archive": SessionArchive,
    "session.delete": SessionDelete,
    "session.export": SessionExport,
}
"""Name of a method → its parameters."""
