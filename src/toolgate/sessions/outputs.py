"""Stores the whole outputs of a worker in the database, for gateways, before the log refers to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from toolgate.errors import ToolgateError
from toolgate.log import logger
from toolgate.protocol.content import ImageContent
from toolgate.protocol.record import CallRecord
from toolgate.protocol.references import references
from toolgate.sessions import Message, SessionManager
from toolgate.sessions.ancestors import top_session
from toolgate.sessions.blobs import Blobs
from toolgate.text.masking import MaskedBytes
from toolgate.text.redaction import secrets_of
from toolgate.workspace.oserrors import from_os_error
from toolgate.workspace.outputs import open_output
from toolgate.workspace.threads import Stop, in_thread

if TYPE_CHECKING:
    from toolgate.protocol.ports import WorkspaceProvider
    from toolgate.sessions import Database, Lease, Usage
    from toolgate.settings import Settings
    from toolgate.workspace import OpenedFile, Workspace

WorkspaceOf = Callable[[str], Awaitable["Workspace"]]
"""Returns the workspace of a session."""
_PIECE = 256 * 1024
_TIMEOUT = 20.0
"""Seconds that a call waits for its outputs to be stored."""
_SIDE_BY_SIDE = 4
"""Outputs that are stored at the same time; the other connections are for the turns."""


class WorkerSessions(SessionManager):
    """A session store that writes the end of a call only after the outputs of the call are stored."""

    def __init__(
        self, db: Database, settings: Settings, workspace_of: WorkspaceOf, workspaces: WorkspaceProvider | None = None
    ) -> None:
        """`workspace_of` returns the workspace of a session; `workspaces` stores its files, if they move with it."""
        super().__init__(db, settings.session)
        self._outputs = Outputs(Blobs(db), settings, workspace_of)
        self._workspaces = workspaces

    async def append(
        self,
        lease: Lease,
        entries: Sequence[Message | CallRecord],
        *,
        turn_id: str | None = None,
        handoff_state: str | None = None,
        images: Sequence[ImageContent] = (),
        usage: Usage | None = None,
    ) -> None:
        """Add messages and records of calls, after the outputs that they refer to are stored."""
        ended = [entry for entry in entries if isinstance(entry, CallRecord) and entry.kind == "finished"]
        found = [reference for entry in ended for reference in references(entry.payload.get("data")).values()]
        if ended and self._workspaces is not None:
            await self._workspaces.save(await top_session(self, lease.session_id))
        if found:
            await asyncio.gather(*(self._outputs.keep(lease.session_id, reference) for reference in found))
        await super().append(lease, entries, turn_id=turn_id, handoff_state=handoff_state, images=images, usage=usage)


class Outputs:
    """The outputs in one workspace, without secrets."""

    def __init__(self, blobs: Blobs, settings: Settings, workspace_of: WorkspaceOf) -> None:
        self._blobs = blobs
        self._directory = settings.tool_output.dir
        self._limit = settings.distributed.output_bytes
        self._secrets = secrets_of(settings)
        self._workspace_of = workspace_of
        self._slots = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def keep(self, session_id: str, reference: str) -> None:
        """Store an output, if possible; the result of the call does not depend on it."""
        try:
            async with asyncio.timeout(_TIMEOUT), self._slots:
                await self._keep(session_id, reference)
        except Exception as error:  # noqa: BLE001 - the call has run, and its result must not be lost with its output
            reason = str(error) if isinstance(error, ToolgateError) else type(error).__name__
            logger("distributed").warning(
                "output_not_stored", session_id=session_id, reference=reference[:200], reason=reason
            )

    async def _keep(self, session_id: str, reference: str) -> None:
        workspace = await self._workspace_of(session_id)
        with await in_thread(self._opened, workspace, reference) as file:
            if file.stat.st_size > self._limit:
                await self._blobs.note(session_id, reference, file.stat.st_size)
            else:
                await self._blobs.store(session_id, reference, lambda: _pieces(file, self._secrets))

    def _opened(self, _stop: Stop, workspace: Workspace, reference: str) -> OpenedFile:
        return open_output(workspace, self._directory, reference)


def _pieces(file: OpenedFile, secrets: tuple[str, ...]) -> Iterator[bytes]:
    """The content of the file as it was when it was opened, without secrets."""
    stream = MaskedBytes(secrets)
    for offset in range(0, file.stat.st_size, _PIECE):
        length = min(_PIECE, file.stat.st_size - offset)
        try:
            piece = file.read(length, offset)
        except OSError as error:
            raise from_os_error(error, file.path) from error
        if len(piece) < length:
            raise ToolgateError("it became shorter while it was stored")
        if shown := stream.feed(piece):
            yield shown
    if rest := stream.flush():
        yield rest
