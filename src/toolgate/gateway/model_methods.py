"""The RPC methods about models: which there are, setting one up, and the model of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from toolgate.errors import ModelError
from toolgate.gateway.projection import error, response
from toolgate.gateway.refused import RequestRefused
from toolgate.log import logger
from toolgate.protocol import model_requests
from toolgate.text.redaction import mask

if TYPE_CHECKING:
    from toolgate.gateway.outbox import Outbox
    from toolgate.gateway.service import Service
    from toolgate.models.setup import Choice
    from toolgate.models.source import ModelSource
    from toolgate.protocol.requests import Request
    from toolgate.sessions import Session
    from toolgate.settings import Settings

_NOT_HERE = (
    "The model of this gateway is set up by its operator, in the config file or the environment; "
    "TOOLGATE_GATEWAY_MODEL_SETUP=on allows it here."
)

Method = Callable[["Request", Any], Awaitable[dict[str, Any] | None]]


def may_set_up(settings: Settings) -> bool:
    """Whether users of the gateway may set up its model: by default only its one user, on this machine."""
    from toolgate.gateway.addresses import is_loopback

    gateway = settings.gateway
    if gateway.model_setup != "auto":
        return gateway.model_setup == "on"
    return is_loopback(gateway.host) and len(gateway.tokens_by_user()) <= 1 and not gateway.allowed_hosts


class ModelMethods:
    """The methods of one connection. Those that ask a model server run in the background."""

    def __init__(
        self,
        service: Service,
        outbox: Outbox,
        owned: Callable[[str], Awaitable[Session]],
        tasks: set[asyncio.Task[Any]],
    ) -> None:
        self._service = service
        self._outbox = outbox
        self._owned = owned
        self._tasks = tasks
        self.by_name: dict[str, Method] = {
            "model.list": lambda request, _: self._in_background(request, self._list()),
            "model.providers": lambda request, _: self._in_background(request, self._providers()),
            "model.test": lambda request, params: self._in_background(request, self._test(params)),
            "model.configure": lambda request, params: self._in_background(request, self._configure(params)),
            "session.model": self._change,
        }

    @property
    def default(self) -> str:
        """The default model, written as `provider:model` like a session's model."""
        return "" if self._service.models is None else self._service.models.default_id

    def usable(self, model: str | None) -> str:
        """Return the model to store with a session, empty for the default; one that cannot be used is refused."""
        if model is None or model == self.default:
            return ""
        try:
            self._source.find(model)
        except ModelError as problem:
            raise RequestRefused("INVALID_PARAMS", problem.message) from None
        return model

    @property
    def _source(self) -> ModelSource:
        if self._service.models is None:
            raise RequestRefused("INVALID_PARAMS", "This gateway does not know its models.")
        return self._service.models

    async def _in_background(self, request: Request, answer: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """Answer the request when the model server has answered. The connection handles other requests meanwhile."""

        async def reply() -> None:
            try:
                frame = response(request.id, mask(await answer, self._service.secrets))
            except RequestRefused as refusal:
                frame = error(request.id, refusal.code, str(refusal))
            except ModelError as problem:
                frame = error(request.id, "INVALID_PARAMS", mask(problem.message, self._service.secrets))
            except Exception as problem:  # noqa: BLE001 - a failed request must not end the connection
                logger("gateway").error("request_failed", method=request.method, error=type(problem).__name__)
                frame = error(request.id, "INTERNAL_ERROR", f"The request failed ({type(problem).__name__}).")
            self._outbox.put(frame)

        task = asyncio.get_running_loop().create_task(reply(), name="toolgate-model-request")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _list(self) -> dict[str, Any]:
        source = self._source
        found, problem = await source.catalog()
        chosen = {} if source.settings.vision is None else {source.default_id: source.settings.vision}
        models = [
            {
                "id": f"{provider}:{info.name}",
                "provider": provider,
                "label": info.label or info.name,
                "context_tokens": info.context_tokens,
                "vision": chosen.get(f"{provider}:{info.name}", info.vision),
            }
            for provider, info in found
        ]
        answer = {"models": models, "default": source.default_id, "configured": source.is_configured}
        return {**answer, "setup": self._service.may_set_up_model, **({"problem": problem} if problem else {})}

    async def _providers(self) -> dict[str, Any]:
        self._check_allowed()
        from toolgate.models.discovery import find_servers
        from toolgate.models.setup import offers

        found = [
            {"base_url": server.base_url, "label": server.label, "models": list(server.models)}
            for server in await find_servers()
        ]
        return {"providers": offers(), "found": found}

    async def _test(self, params: model_requests.ModelTest) -> dict[str, Any]:
        self._check_allowed()
        from toolgate.models.setup import try_out

        try:
            trial = await try_out(_choice(params), self._source)
        except ModelError as problem:
            return {"ok": False, "models": [], "message": problem.message}
        where = trial.base_url or "the provider"
        found = f"{len(trial.models)} model{'s' if len(trial.models) != 1 else ''}"
        return {
            "ok": True,
            "models": [info.name for info in trial.models],
            "message": f"It works: {where} has {found}.",
        }

    async def _configure(self, params: model_requests.ModelConfigure) -> dict[str, Any]:
        self._check_allowed()
        from toolgate.models.setup import set_up

        await set_up(_choice(params), params.model, self._source)
        return await self._list()

    async def _change(self, _request: Request, params: model_requests.SessionModel) -> dict[str, Any]:
        session = await self._owned(params.session_id)
        model = self.usable(params.model)
        await self._service.sessions.set_model(session.id, model)
        return {"session_id": session.id, "model": model or self.default}

    def _check_allowed(self) -> None:
        if not self._service.may_set_up_model:
            raise RequestRefused("INVALID_PARAMS", _NOT_HERE)


def _choice(params: Any) -> Choice:
    from toolgate.models.setup import Choice

    key = None if params.api_key is None else params.api_key.get_secret_value()
    return Choice(provider=params.provider, base_url=params.base_url, api_key=key)
