"""An agent at work on a project: what the torture test kills again and again."""

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

from tests.support.forks import Say
from toolgate import ToolCall, ToolMode, Workspace, builtin_registry
from toolgate.agent import AgentEvent, AgentLoop, TextChunk, ToolCallInfo, ToolDenied, ToolResultInfo, TurnDone
from toolgate.models import ModelRequest
from toolgate.models.base import ModelItem
from toolgate.protocol.ids import uuid7
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings, Settings
from toolgate.testing import AutoApprover

OPEN = SessionSettings(coding_enabled=True)
WHOLE = {letter: (letter * 79 + "\n") * 100 for letter in "ab"}
"""What the file that is written may contain: all of one or all of the other."""


class Worker:
    """A model that works without end: it writes, edits and runs commands, with ids that nobody has used before.

    What it asks for depends on the conversation alone, as a real model's answers do: a round for each kind of call,
    then words.
    """

    def __init__(self, folder: str, *, commands: bool) -> None:
        self._folder = folder
        self._commands = commands

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """The next step."""
        step = 0
        for message in reversed(request.messages):
            if message["role"] == "user":
                break
            step += message["role"] == "assistant"
        yield f"step {step} "
        await asyncio.sleep(0)
        for name, arguments in self._step(step):
            yield ToolCall(id=uuid7(), name=name, arguments=json.dumps(arguments))

    def _step(self, step: int) -> list[tuple[str, dict[str, object]]]:
        whole, lines = f"{self._folder}/whole.txt", f"{self._folder}/lines.txt"
        edit = {"old_string": "a" * 79, "new_string": "b" * 79, "replace_all": True}
        steps: list[list[tuple[str, dict[str, object]]]] = [
            [("read_file", {"path": whole, "limit": 5}), ("ls", {"path": self._folder})],
            [("write_file", {"path": whole, "content": WHOLE["a"]})],
            [("edit_file", {"path": whole, **edit}), ("todo", {"items": []})],
        ]
        if self._commands:
            # the command is the only thing that writes its line: a second run would be a second line
            steps[0] = [("Bash", {"command": f"echo {uuid7()} >> {lines}"}), ("current_time", {})]
        return steps[step] if step < len(steps) else []


async def work(folder: Path, session_id: str, say: Say, *, commands: bool, turns: float = math.inf) -> None:
    """Take turns, without end if nothing else is said; say what a person would have seen."""
    database = Database(f"sqlite:///{folder}/toolgate.db")
    await database.migrate()
    workspace = Workspace(folder / "project")
    settings = Settings.defaults().model_copy(update={"session": OPEN})
    loop = AgentLoop(
        Worker(session_id, commands=commands),
        builtin_registry(),
        SessionManager(database, OPEN),
        workspace=workspace,
        approver=AutoApprover(),
        settings=settings,
    )
    while turns > 0:
        turns -= 1
        content = f"message {uuid7()}"
        async for event in loop.handle_message(session_id, content, request_id=content):
            if (seen := _seen(event, content)) is not None:
                say(f"{session_id} {seen}")
    await loop.aclose()
    await database.close()
    workspace.close()


def _seen(event: AgentEvent, content: str) -> str | None:
    """What counts as acknowledged, in one line."""
    match event:
        case TextChunk():
            return f"said {content}"
        case ToolCallInfo():
            return f"call {event.call_id}"
        case ToolResultInfo() | ToolDenied():
            return f"result {event.call_id}"
        case TurnDone():
            return f"turn {event.turn_id}"
        case _:
            return None


async def works(folder: Path, sessions: list[str], say: Say) -> None:
    """Several sessions at once; the first one also runs commands."""
    say("begun")
    jobs: list[Awaitable[None]] = [
        work(folder, session, say, commands=number == 0) for number, session in enumerate(sessions)
    ]
    await asyncio.gather(*jobs)


async def prepared(folder: Path, count: int) -> list[str]:
    """A project and sessions to work in, with a turn each, so that a fork has everything loaded."""
    os.makedirs(folder / "project")
    database = Database(f"sqlite:///{folder}/toolgate.db")
    await database.migrate()
    manager = SessionManager(database, OPEN)
    sessions = [(await manager.create(ToolMode.coding)).id for _ in range(count)]
    await database.close()
    for session in sessions:
        (folder / "project" / session).mkdir()
        (folder / "project" / session / "whole.txt").write_text(WHOLE["b"])
        await work(folder, session, lambda _: None, commands=session == sessions[0], turns=1)
    return sessions
