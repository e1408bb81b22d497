"""The state that all connections of the gateway share."""

from __future__ import annotations

import asyncio
import weakref
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolgateError
from toolgate.gateway.access import Access, Identity
from toolgate.gateway.channels import Channels
from toolgate.gateway.metrics import Counts
from toolgate.gateway.page_watcher import DetailWatcher, RenderedWatcher
from toolgate.gateway.project import project_label, sandbox
from toolgate.gateway.projection import as_json, frame_id
from toolgate.gateway.refused import RequestRefused
from toolgate.gateway.turns import LocalTurns
from toolgate.gateway.watcher import Watcher
from toolgate.log import logger
from toolgate.protocol.ports import BlobStore, EventFeed, LoggedEvent, TurnRunner
from toolgate.sessions import sign_outs
from toolgate.sessions.ancestors import top_session
from toolgate.workspace.threads import in_thread

if TYPE_CHECKING:
    from pathlib import Path

    from toolgate.gateway.connection import ClientConnection
    from toolgate.gateway.outbox import Outbox
    from toolgate.models.source import ModelSource
    from toolgate.protocol.requests import SessionSubscribe
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.sessions import Database, Session, SessionStore, Usage
    from toolgate.settings import GatewaySettings, ShellSettings
    from toolgate.workspace import Workspace
    from toolgate.workspace.own_commands import OwnCommands

_STALLED_SECONDS = 30.0
"""Seconds after which a client that does not read is disconnected."""
_CHECK_SECONDS = 5
"""Seconds between two checks for abandoned turns and for sign-outs in other gateways."""
_FLUSH_SECONDS = 5.0
"""Maximum seconds at shutdown to send the last events to watchers."""
_MAX_REQUEST_IDS = 10_000
"""Maximum number of request keys whose `id` is remembered."""
_SANDBOX_SECONDS = 0.05
"""Seconds that a client waits for the name of the sandbox. A trial of the sandbox may take a second."""
_MAX_DECODED = 2
"""Pictures of clients that are decoded at the same time; each may take much memory."""
_MAX_UPLOADS = 4
"""Pictures of one user that are in memory at the same time; others are not read yet."""
_REVOKED = "the token was revoked"


class Service:
    """Sessions, turns, watched sessions and connections."""

    def __init__(
        self,
        settings: GatewaySettings,
        access: Access,
        sessions: SessionStore,
        registry: ToolRegistry,
        feed: EventFeed,
        turns: Callable[[str], TurnRunner],
        blobs: BlobStore,
        project: str,
        *,
        coding_enabled: bool,
    ) -> None:
        self.settings = settings
        self.access = access
        self.sessions = sessions
        self.registry = registry
        self.feed = feed
        self.blobs = blobs
        self.project = project
        self.coding_enabled = coding_enabled
        self._submitting: weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock] = weakref.WeakValueDictionary()
        self._request_ids: dict[tuple[str, str], str] = {}
        self.channels = Channels(feed, self._request_of, self.frame_id)
        self.connections: set[ClientConnection] = set()
        self.counts = Counts()
        self.decoding = asyncio.Semaphore(_MAX_DECODED)
        """Held while a picture of a client is decoded."""
        self.uploads: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_MAX_UPLOADS))
        """By user: held from the first byte of a picture until it is stored."""
        self.secrets: tuple[str, ...] = ()
        """Secrets that are masked in what clients send."""
        self.database: Database | None = None
        """The database that stores ended sign-ins."""
        self.closes_abandoned = False
        """Whether this gateway ends abandoned turns."""
        self.draining = False
        """Whether no new turns are started."""
        self.own_commands: OwnCommands | None = None
        """Slash commands from files; None if turns run elsewhere."""
        self.workspace: Workspace | None = None
        """The project's files; None if only workers have them."""
        self.output_dir = ""
        """The directory of output files, relative to the root."""
        self.shell: ShellSettings | None = None
        """How commands are run and what confines them."""
        self._sandbox: asyncio.Task[str] | None = None
        self.models: ModelSource | None = None
        """The models of the sessions, if they are known here."""
        self.model_setup = False
        """Whether users may set up the model."""
        self.policy_file: Path | None = None
        """The user's policy file, if clients may have rules remembered in it."""
        self.root = ""
        """The root of the project that such rules are about."""
        self._make_turns = turns
        self._turns: dict[str, TurnRunner] = {}

    async def files_of(self, session: Session) -> Workspace:
        """Return the project's files as a session sees them; `RequestRefused` if they are not for this client."""
        if not self.coding_enabled:
            text = "The operator has not enabled work on files (SESSION_CODING_ENABLED), so they are not shown."
            raise RequestRefused("MODE_NOT_ENABLED", text)
        if self.workspace is None:
            raise RequestRefused("INVALID_PARAMS", "This gateway has no files: its workers have the project.")
        if session.project not in ("", self.project):
            text = (
                f"This session belongs to another project, {project_label(session.project)}. Serve that one to see it."
            )
            raise RequestRefused("INVALID_PARAMS", text)
        owner = await top_session(self.sessions, session.id)
        return self.workspace.for_session(self.output_dir, owner)

    @property
    def is_shared(self) -> bool:
        """Whether there are several users now: tokens may be replaced while the gateway runs."""
        return len(self.access.users) > 1

    @property
    def may_set_up_model(self) -> bool:
        """Whether users may set up the model now."""
        return self.model_setup and (self.settings.model_setup == "on" or not self.is_shared)

    @property
    def ripgrep(self) -> str | None:
        """The ripgrep that the settings choose."""
        return None if self.shell is None else self.shell.ripgrep

    async def sandbox(self) -> str:
        """Return the name of the sandbox of commands; empty while it is being tried out for the first time."""
        settings = self.shell
        if settings is None:
            return ""
        if self._sandbox is None:
            self._sandbox = asyncio.ensure_future(in_thread(sandbox, settings.sandbox, settings.bwrap))
        done, _ = await asyncio.wait({self._sandbox}, timeout=_SANDBOX_SECONDS)
        if not done:
            return ""
        found, failed = self._sandbox, self._sandbox.exception()
        if failed is not None:
            self._sandbox = None  # the next client starts another trial
        return found.result()

    async def aclose(self) -> None:
        """End what this service has begun itself."""
        if self._sandbox is not None:
            self._sandbox.cancel()
            await asyncio.gather(self._sandbox, return_exceptions=True)

    @property
    def model(self) -> str:
        """The name of the default model, if it is known."""
        return "" if self.models is None else self.models.default_name

    def turns_of(self, user: str) -> TurnRunner:
        """Return the runner of a user's turns."""
        runner = self._turns.get(user)
        if runner is None:
            runner = self._turns[user] = self._make_turns(user)
        return runner

    @property
    def running(self) -> int:
        """Number of turns running in this process."""
        return sum(getattr(runner, "running", 0) for runner in self.runners)

    @property
    def runners(self) -> list[TurnRunner]:
        """All runners that were created."""
        return list(self._turns.values())

    def watcher(self, session_id: str, outbox: Outbox, after_seq: int, wanted: SessionSubscribe) -> Watcher:
        """Create the view of a session that the client asked for."""
        if wanted.details:
            return (RenderedWatcher if wanted.render else DetailWatcher)(session_id, outbox, after_seq)
        return Watcher(session_id, outbox, after_seq)

    async def summary(self, session_id: str) -> dict[str, Any]:
        """Return what a session has done so far."""
        turns = await self.sessions.turn_totals(session_id)
        pending = await self.sessions.pending_approvals(session_id)
        return {
            "seq": await self.sessions.last_seq(session_id),
            "running": turns.running > 0,
            "turns": turns.count,
            "usage": turns.usage.model_dump(),
            **self._cost(turns.usage),
            "pending_approvals": [row.id for row in pending],
            "todos": await self.sessions.todo_items(session_id),
        }

    def _cost(self, usage: Usage) -> dict[str, float]:
        """Return what a session has cost, if the operator has set prices; nothing is guessed."""
        settings = None if self.models is None else self.models.settings
        if settings is None or settings.input_price is None or settings.output_price is None:
            return {}
        cost = usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price
        return {"cost": round(cost / 1_000_000, 6)}

    async def pending_events(self, session_id: str, ids: set[str], until: int) -> Sequence[LoggedEvent]:
        """Return the events with these approval requests, up to a sequence number."""
        found: list[LoggedEvent] = []
        after = 0
        while after < until and ids:
            batch = await self.feed.events(session_id, after, limit=500)
            if not batch:
                break
            for event in batch:
                if event.seq <= until and event.kind == "approval_request" and event.payload.get("id") in ids:
                    found.append(event)
                    ids.discard(event.payload["id"])
            after = batch[-1].seq
        return found

    def admit(self, connection: ClientConnection) -> bool:
        """Add a connection if there is room for it."""
        if len(self.connections) >= self.settings.max_connections:
            return False
        self.connections.add(connection)
        return True

    async def sign_out(self, identity: Identity) -> None:
        """End a page's sign-in and close its connections. If it cannot be stored now, it is stored later."""
        self.access.sign_out(identity)
        self.close_expired()
        try:
            await self.share_sign_outs()
        except ToolgateError as error:
            logger("gateway").warning("sign_out_not_stored", error=type(error).__name__)

    async def share_sign_outs(self) -> None:
        """Store the sign-ins that ended here, and read those that ended elsewhere."""
        if self.database is None:
            return
        unsaved = dict(self.access.unsaved_sign_outs)
        if unsaved:
            await sign_outs.add(self.database, unsaved)
            for key in unsaved:
                del self.access.unsaved_sign_outs[key]
        self.access.learn_sign_outs(await sign_outs.current(self.database))

    def close_expired(self) -> None:
        """Close the connections whose token or key is no longer valid."""
        for connection in list(self.connections):
            if not self.access.is_valid(connection.identity):
                connection.outbox.close(4401, _REVOKED)

    async def drain(self) -> None:
        """Start no new turns, and give running ones the time that the settings allow."""
        self.draining = True
        logger("gateway").info("gateway_ending", connections=len(self.connections))
        waiting = [runner.drain(self.settings.shutdown_seconds) for runner in self.runners]
        left = sum(await asyncio.gather(*waiting))
        if left:
            logger("gateway").warning("turns_cut_off", turns=left)
            cut_off = [runner.cut_off(_FLUSH_SECONDS) for runner in self.runners if isinstance(runner, LocalTurns)]
            await asyncio.gather(*cut_off)
        await self._flush_watchers()

    async def _flush_watchers(self) -> None:
        """Wait until watchers have received everything in the log, but not long for slow ones."""
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self.channels.wait_until_sent(self.sessions.last_seq)
                for connection in list(self.connections):
                    await connection.outbox.sent()
        except (TimeoutError, ToolgateError) as error:  # watchers can resume after their last seq
            logger("gateway").warning("watchers_left_behind", error=type(error).__name__)

    async def close_abandoned(self) -> None:
        """End the turns whose process has ended, so that watchers are informed."""
        unstored = {session_id for runner in self.runners for session_id in getattr(runner, "unstored_sessions", ())}
        for session_id in await self.sessions.running_sessions():
            if session_id in unstored:  # its turn ended here, and the result is about to be stored
                continue
            recovery = await self.sessions.settle(session_id)
            if recovery:
                logger("gateway").warning("turn_interrupted", session_id=session_id, turns=len(recovery.turns))

    async def watch(self) -> None:
        """Regularly disconnect clients that do not read, and end abandoned turns."""
        loop, ticks = asyncio.get_running_loop(), 0
        while True:
            if ticks % _CHECK_SECONDS == 0:
                await self._check("sign_outs_not_shared", self.share_sign_outs)
                if self.closes_abandoned:
                    await self._check("turns_not_recovered", self.close_abandoned)
            self.close_expired()
            ticks += 1
            await asyncio.sleep(1.0)
            now = loop.time()
            for connection in list(self.connections):
                since = connection.outbox.sending_since
                if since is not None and now - since > _STALLED_SECONDS:
                    connection.abort()

    @staticmethod
    async def _check(failure: str, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - the next check may succeed, and slow clients are checked anyway
            logger("gateway").warning(failure, error=type(error).__name__)

    def submit_lock(self, session_id: str, key: str) -> asyncio.Lock:
        """Return the lock for submitting a request, so that a duplicate is not refused as busy."""
        lock = self._submitting.get((session_id, key))
        if lock is None:
            lock = self._submitting[session_id, key] = asyncio.Lock()
        return lock

    def remember_request(self, session_id: str, key: str, request_id: Any) -> None:
        """Remember the `id` of the first frame that carried this request key."""
        self._request_ids.setdefault((session_id, key), as_json(request_id))
        if len(self._request_ids) > _MAX_REQUEST_IDS:
            del self._request_ids[next(iter(self._request_ids))]

    def frame_id(self, session_id: str, key: str | None, turn_id: str | None) -> str:
        """Return the `id` of a turn's frames, as JSON. After a restart it is the request's key."""
        known = self._request_ids.get((session_id, key or ""))
        return frame_id(key, turn_id) if known is None else known

    async def _request_of(self, turn_id: str) -> str | None:
        turn = await self.sessions.turn(turn_id)
        return None if turn is None else turn.request_id
