"""The RPC methods of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.errors import ChoiceNotOffered, PolicyError, RequestRepeated, SessionError, SessionNotFound
from toolgate.gateway import permissions
from toolgate.gateway.markdown import render_parts
from toolgate.gateway.model_methods import ModelMethods
from toolgate.gateway.pictures import stored_images
from toolgate.gateway.project_methods import ProjectMethods
from toolgate.gateway.projection import as_json, end_frames_for, request_key, response, shown_images
from toolgate.gateway.refused import RequestRefused
from toolgate.gateway.session_methods import SessionMethods, session_data
from toolgate.gateway.subscription_methods import SubscriptionMethods
from toolgate.gateway.tool_list import tool_list
from toolgate.gateway.watcher import TurnWatcher
from toolgate.protocol import requests
from toolgate.protocol.modes import ApprovalMode
from toolgate.text.redaction import mask

if TYPE_CHECKING:
    from toolgate.gateway.connection import ClientConnection
    from toolgate.protocol.content import StoredImage
    from toolgate.protocol.model_requests import SessionCompact
    from toolgate.protocol.requests import Request
    from toolgate.sessions import Message, Session


class Methods:
    """The methods of one connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self.service = self._service = connection.service
        self.user = self._user = connection.identity.user
        self.outbox = self._outbox = connection.outbox
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turns: set[TurnWatcher] = set()
        self._models = ModelMethods(self._service, self._outbox, self.owned, self._tasks)
        self._subscriptions = SubscriptionMethods(self)
        self._by_name: dict[str, Callable[[Request, Any], Awaitable[dict[str, Any] | None]]] = {
            "chat.send": self._send,
            "chat.history": self._history,
            "chat.cancel": self._cancel,
            "session.create": self._create,
            "session.get": self._get,
            "session.rename": self._rename,
            "session.approval_mode": self._switch_approval_mode,
            "approval.respond": self._respond,
            "permissions.list": self._permissions,
            "permissions.remove": self._remove_permission,
            "tools.list": self._tools,
            **self._subscriptions.by_name,
            **SessionMethods(self).by_name,
            **ProjectMethods(self).by_name,
            "text.render": self._render,
            "session.compact": self._compact,
            **self._models.by_name,
        }

    async def call(self, request: Request, params: Any) -> None:
        """Run the method of a request."""
        data = await self._by_name[request.method](request, params)
        if data is not None:
            self._outbox.put(response(request.id, data))

    def close(self) -> None:
        """Stop watching for a client that has disconnected. Its turns continue."""
        for watcher in self._turns:
            self._service.channels.leave(watcher)
        self._subscriptions.close()

    def leave_turns(self, session_id: str) -> None:
        """Stop watching single turns of a session: its subscription has them too."""
        for watcher in [known for known in self._turns if known.session_id == session_id]:
            self._service.channels.leave(watcher)
            self._turns.discard(watcher)

    async def owned(self, session_id: str) -> Session:
        """Return the session if it belongs to this user; to others it does not exist."""
        try:
            session = await self._service.sessions.get(session_id)
        except SessionNotFound:
            session = None
        if session is None or session.user != self._user:
            raise RequestRefused("INVALID_PARAMS", "There is no such session.")
        return session

    async def _send(self, request: Request, params: requests.ChatSend) -> None:
        session = await self.owned(params.session_id)
        images = await stored_images(self._service.sessions, session.id, params.images)
        await self.take_turn(request, session, params.content, params.request_id, images=images)

    async def _compact(self, request: Request, params: SessionCompact) -> dict[str, Any] | None:
        session = await self.owned(params.session_id)
        if params.restore:
            return {"session_id": session.id, "restored": await self._service.sessions.restore_context(session.id)}
        await self.take_turn(request, session, None, None)
        return None

    async def take_turn(
        self,
        request: Request,
        session: Session,
        content: str | None,
        request_id: str | None,
        rewind_to: int | None = None,
        images: Sequence[StoredImage] = (),
    ) -> None:
        """Start a turn, in the place of an earlier message if `rewind_to` names one, and send its frames.

        Without content the turn summarises the session.
        """
        if self._service.draining:
            raise RequestRefused("SESSION_BUSY", "The gateway is shutting down; send the message again in a moment.")
        if content is not None and not content.strip() and not images:
            raise RequestRefused("INVALID_PARAMS", "The message is empty: write something, or attach a picture.")
        key = request_key(request_id, request.id)
        if request_id is not None:
            self._service.remember_request(session.id, key, request.id)
        watcher = None
        if session.id not in self._subscriptions.watchers:
            watcher = await self._watch_turn(session.id, session.last_seq, key, request)
        try:
            async with self._service.submit_lock(session.id, key):
                runner = self._service.turns_of(self._user)
                await runner.submit(session.id, content, request_id=key, rewind_to=rewind_to, images=images)
        except BaseException as error:
            if isinstance(error, RequestRepeated) and watcher is not None and watcher.found:
                return  # a duplicate of a request that is being submitted and is already watched
            if watcher is not None:
                self._turns.discard(watcher)
                self._service.channels.leave(watcher)
            if not isinstance(error, RequestRepeated):
                raise
            if watcher is not None:  # the turn began earlier, and the client has missed its events
                await self._watch_turn(session.id, 0, key, request)
            else:
                await self._send_end(session.id, key, request)

    async def _send_end(self, session_id: str, key: str, request: Request) -> None:
        """Send the end of a repeated request's turn to a client that watches the session, if it has ended."""
        turn = await self._service.sessions.turn_of_request(session_id, key)
        if turn is None or turn.status == "running":
            return
        frames = end_frames_for(turn.status, turn.error or "", session_id, turn.id, as_json(request.id))
        self._subscriptions.put_after_replay(session_id, frames)

    async def _watch_turn(self, session_id: str, after_seq: int, key: str, request: Request) -> TurnWatcher:
        watcher = TurnWatcher(session_id, self._outbox, after_seq, key, as_json(request.id))
        self._turns = {known for known in self._turns if not known.over} | {watcher}
        await self._service.channels.of(session_id).join(watcher)
        return watcher

    async def _history(self, _request: Request, params: requests.ChatHistory) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        messages = await self._service.sessions.history(session.id)
        return {
            "session_id": session.id,
            "messages": [_message_data(message, session.id) for message in messages],
        }

    async def _cancel(self, _request: Request, params: requests.ChatCancel) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        cancelling = asyncio.ensure_future(self._service.turns_of(self._user).cancel(session.id))
        self._tasks.add(cancelling)
        cancelling.add_done_callback(self._tasks.discard)
        done, _ = await asyncio.wait({cancelling}, timeout=0.5)
        return {"session_id": session.id, "cancelled": cancelling.result() if done else True}

    async def _create(self, _request: Request, params: requests.SessionCreate) -> dict[str, Any]:
        service = self._service
        model = self._models.usable(params.model)
        session = await service.sessions.create(
            params.mode,
            title=mask(params.title, service.secrets),
            user=self._user,
            project=service.project,
            model=model,
            approval_mode=params.approval_mode,
        )
        approval_mode = (
            {} if "approval_mode" not in params.model_fields_set else {"approval_mode": params.approval_mode}
        )
        return {"session_id": session.id, "mode": session.mode.value, **approval_mode}

    async def _get(self, _request: Request, params: requests.SessionGet) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        context = {"used": session.context_tokens, "limit": session.context_limit}
        row = session_data(session, self._service.models)
        return {**row, "context": context, **await self._service.summary(session.id)}

    async def _rename(self, _request: Request, params: requests.SessionRename) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        title = mask(params.title, self._service.secrets)
        await self._service.sessions.rename(session.id, title)
        return {"session_id": session.id, "title": title}

    async def _switch_approval_mode(self, _request: Request, params: requests.SessionApprovalMode) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        try:
            await self._service.sessions.switch_approval_mode(session.id, ApprovalMode(params.approval_mode))
        except SessionNotFound:
            raise
        except SessionError as error:
            raise RequestRefused("INVALID_PARAMS", str(error)) from None
        return {"session_id": session.id, "approval_mode": params.approval_mode}

    async def _permissions(self, _request: Request, params: requests.PermissionsList) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        try:
            return {"session_id": session.id, "rules": await permissions.list_permissions(self._service, session.id)}
        except PolicyError as error:
            raise RequestRefused("INTERNAL_ERROR", str(error)) from None

    async def _remove_permission(self, _request: Request, params: requests.PermissionsRemove) -> dict[str, Any]:
        session = await self.owned(params.session_id)
        try:
            removed = await permissions.remove_permission(self._service, session.id, params.id)
        except PolicyError as error:
            raise RequestRefused("INTERNAL_ERROR", str(error)) from None
        if not removed:
            raise RequestRefused("INVALID_PARAMS", "There is no such permission, or it was already taken back.")
        return {"removed": True}

    async def _respond(self, _request: Request, params: requests.ApprovalRespond) -> dict[str, Any]:
        message, text = (mask(given, self._service.secrets) for given in (params.message, params.text))
        try:
            answer = permissions.approval_of(params, message, text)
            decided = await permissions.store_answer(self._service, params.id, answer, self._user)
        except (permissions.AnswerInvalid, ChoiceNotOffered) as error:
            raise RequestRefused("INVALID_PARAMS", str(error)) from None
        if not decided:
            raise RequestRefused("INVALID_PARAMS", "There is no such approval request, or it was already answered.")
        return {"id": params.id, "allowed": params.allowed}

    async def _tools(self, _request: Request, _params: requests.ToolsList) -> dict[str, Any]:
        service = self._service
        return tool_list(service.registry, service.model, coding_enabled=service.coding_enabled)

    async def _render(self, _request: Request, params: requests.TextRender) -> dict[str, Any]:
        return {"html": await asyncio.to_thread(render_parts, params.text, params.format, params.path)}


def _message_data(message: Message, session_id: str) -> dict[str, Any]:
    """A message as `chat.history` returns it."""
    images = shown_images([image.model_dump() for image in message.images], f"/sessions/{session_id}")
    return {"role": message.role, "content": message.content, **({"images": images} if images else {})}
