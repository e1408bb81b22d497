"""`SessionManagement`: what people do with whole sessions: search, archive, delete, fork, and go back in one."""

from __future__ import annotations

import builtins
from typing import Any, Protocol

from toolgate.protocol.content import StoredImage
from toolgate.protocol.modes import ToolMode
from toolgate.sessions.types import Lease, ListedSession, Session


class SessionManagement(Protocol):
    """The part of a session store that people use between turns. `SessionStore` says what holds for every write."""

    async def find(
        self, user: str, *, search: str = "", archived: bool | None = False, limit: int = 100
    ) -> builtins.list[ListedSession]:
        """A user's sessions that have a message, the latest first; all words of `search` are in the title or a message.

        `archived` chooses those that are archived or those that are not; None means both.
        """
        ...

    async def latest(self, user: str, project: str, mode: ToolMode | None, *, interactive: bool) -> Session | None:
        """The session that has a message, is not archived, and was used last; begun in this mode, if it is given.

        `interactive` leaves out those whose turns all came from a script: their request ids begin with `print:`.
        """
        ...

    async def archive(self, session_id: str, *, archived: bool) -> None:
        """Take a session out of the list, or put it back."""
        ...

    async def delete(self, session_id: str) -> builtins.list[str]:
        """Remove a session for good, with those of its sub-agents, and return their ids.

        `SessionBusy` while a turn runs in one of them; then nothing is removed.
        """
        ...

    async def fork(self, session_id: str, seq: int | None = None) -> Session:
        """A new session from everything before the person's message `seq`, or from all turns that have ended.

        It has the user, the project and the mode of the first one, or `chat_safe` if its mode is not enabled any more.
        """
        ...

    async def rewind(
        self, session_id: str, seq: int, *, lease: Lease | None = None, files: dict[str, Any] | None = None
    ) -> int:
        """Take the person's message `seq` and all that followed out of the transcript; returns the event's number.

        The log keeps everything. Without a lease, `SessionBusy` while a turn runs. `files` is what became of the files,
        for clients that watch. `NoSuchMessage` if the transcript has no such message.
        """
        ...

    async def turns_from(self, session_id: str, seq: int) -> builtins.list[str]:
        """The turns from the person's message `seq` on, with those of sub-agents; `NoSuchMessage` as in `rewind`."""
        ...

    async def last_user_message(self, session_id: str) -> tuple[int, str]:
        """The number and the content of the person's last message; `NoSuchMessage` if there is none."""
        ...

    async def user_message_images(self, session_id: str, seq: int) -> tuple[StoredImage, ...]:
        """The pictures of the person's message `seq`; `NoSuchMessage` as in `rewind`."""
        ...

    async def family(self, session_id: str) -> builtins.list[str]:
        """The session and those of its sub-agents."""
        ...
