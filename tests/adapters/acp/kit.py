"""An editor for tests: the protocol package's own client, on an agent in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from acp import connect_to_agent
from acp.client.connection import ClientSideConnection
from acp.schema import AllowedOutcome, ClientCapabilities, DeniedOutcome, RequestPermissionResponse

from toolgate import ToolCall
from toolgate.adapters.acp import EditorAgent
from toolgate.adapters.acp.stdio import serve_stdio, stream_reader, stream_writer
from toolgate.compose import Stack, assemble
from toolgate.models.base import ModelClient
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.ports import Approver
from toolgate.settings import Settings


def call(name: str, **arguments: object) -> ToolCall:
    """A call of a scripted model."""
    return ToolCall(id=f"{name}-1", name=name, arguments=json.dumps(arguments))


class Editor:
    """Keeps what it is shown, and answers permission requests with an option."""

    def __init__(self, choose: str | None = "allow_once") -> None:
        self.choose = choose
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[Any] = []
        self.options: list[list[str]] = []
        self.is_asked = asyncio.Event()
        self.answer_after: asyncio.Event | None = None

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Keep an update."""
        self.updates.append((session_id, update))

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        """Keep the question and answer it."""
        self.asked.append((session_id, tool_call))
        self.options.append([option.option_id for option in options])
        self.is_asked.set()
        if self.answer_after is not None:
            await self.answer_after.wait()
        if self.choose is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.choose))

    def on_connect(self, conn: Any) -> None:
        """Do nothing: the test has the connection."""

    def kinds(self) -> list[str]:
        """The kinds of updates, in order, consecutive ones once."""
        found = [update.session_update for _, update in self.updates]
        return [kind for place, kind in enumerate(found) if place == 0 or found[place - 1] != kind]

    def text(self) -> str:
        """What the agent said."""
        return "".join(
            update.content.text for _, update in self.updates if update.session_update == "agent_message_chunk"
        )

    def calls(self, kind: str) -> list[Any]:
        """The updates of one kind."""
        return [update for _, update in self.updates if update.session_update == kind]


def opener(model: Callable[[], ModelClient], home: Path) -> Any:
    """Opens projects with a model and a database of the test."""

    @contextlib.asynccontextmanager
    async def open_project(root: Path, approver: Approver) -> AsyncIterator[Stack]:
        settings = Settings.of(
            workspace={"root": root},
            session={"coding_enabled": True},
            database={"url": f"sqlite:///{home}/toolgate.db"},
        )
        async with assemble(settings, model=model(), approver=approver, live_output=True) as stack:
            yield stack

    return open_project


@contextlib.asynccontextmanager
async def connected(
    editor: Editor, open_project: Any, *, meta: dict[str, Any] | None = None
) -> AsyncIterator[ClientSideConnection]:
    """An editor that has initialized its agent, for as long as the block lasts."""
    (stdin, sends), (receives, stdout) = os.pipe(), os.pipe()
    async with EditorAgent(open_project, ToolMode.coding) as agent:
        serving = asyncio.create_task(serve_stdio(agent, stdin=stdin, stdout=stdout))
        reader, writer = await stream_reader(receives), await stream_writer(sends)
        os.close(receives)
        os.close(sends)
        connection = connect_to_agent(editor, writer, reader, use_unstable_protocol=True)  # type: ignore[arg-type]
        capabilities = ClientCapabilities(field_meta=meta)
        await connection.initialize(protocol_version=1, client_capabilities=capabilities)
        try:
            yield connection
        finally:
            await connection.close()
            writer.close()
            await asyncio.wait_for(serving, 30)
            os.close(stdin)
            os.close(stdout)
