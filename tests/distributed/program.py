"""A worker with a model that does what the message says, and tools whose effects can be counted.

    python -m tests.distributed.program NAME=DIR …

The message is JSON: a list of steps, each a text or a list of calls `[name, arguments]`; the text `pictures` stands for
what the pictures of the message are. The model has no memory of its
own: how many answers it has given since the message says which step is next, so any process can go on.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from toolgate.cli.worker import work
from toolgate.models.base import ModelItem, ModelRequest, ModelUsage
from toolgate.protocol.calls import ToolCall
from toolgate.protocol.modes import ToolMode
from toolgate.runtime.builtin import agent_registry
from toolgate.runtime.registry import ToolRegistry
from toolgate.settings import Settings
from toolgate.tools.function import tool

PAUSE = float(os.environ.get("TEST_MODEL_PAUSE", "0.0"))
"""Seconds that the model thinks before each answer."""


class StepModel:
    """Plays the steps that the message lists."""

    name = "steps"
    vision = True

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """The next step."""
        place = max(n for n, message in enumerate(request.messages) if message["role"] == "user")
        steps = json.loads(request.messages[place]["content"])
        step = steps[sum(message["role"] == "assistant" for message in request.messages[place:])]
        await asyncio.sleep(PAUSE)
        if step == "pictures":
            step = " ".join(f"{one.name}={one.sha256}" for one in request.messages[place].get("images", ()))
        if isinstance(step, str):
            for piece in (step[: len(step) // 2], step[len(step) // 2 :]):
                yield piece
                await asyncio.sleep(PAUSE / 4)
        else:
            for number, (name, arguments) in enumerate(step):
                yield ToolCall(id=f"call{number}", name=name, arguments=json.dumps(arguments))
        yield ModelUsage(input_tokens=10, output_tokens=5)


def _write(directory: str, name: str, line: str) -> None:
    descriptor = os.open(Path(directory) / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


async def _word(directory: str, name: str) -> None:
    """Wait until the test says this word (`Cluster.let`)."""
    while name and not (Path(directory) / f"let-{name}").exists():
        await asyncio.sleep(0.05)


def registry(effects: str) -> ToolRegistry:
    """The built-in tools, and some with effects that must happen at most once."""
    made = agent_registry()
    both = frozenset(ToolMode)

    async def note(key: str, seconds: float = 0.0) -> str:
        """Write a line down; not to be repeated.

        Args:
            key: what to write
            seconds: how long it takes, half of it before the line is written
        """
        await asyncio.sleep(seconds / 2)
        _write(effects, "notes", key)
        await asyncio.sleep(seconds / 2)
        return key

    async def look(key: str, seconds: float = 0.0, until: str = "") -> str:
        """Look at something; may be repeated.

        Args:
            key: what to look at
            seconds: how long it takes
            until: the word of the test that it waits for
        """
        _write(effects, "looks", key)
        await asyncio.sleep(seconds)
        await _word(effects, until)
        return key

    async def risky(key: Annotated[str, Field(description="what to write")]) -> str:
        """Write a line down, if a person allows it."""
        _write(effects, "notes", key)
        return key

    async def span(key: str, seconds: float = 0.0, together: int = 0, until: str = "") -> str:
        """Note when it begins and when it ends, and in which process; may be repeated.

        Args:
            key: what to write
            seconds: how long it takes, once
            together: so many have begun, however long that takes
            until: the word of the test that it waits for
        """
        _write(effects, "spans", f"+{key}@{os.getpid()}")
        try:
            while (Path(effects) / "spans").read_text().count("+") < together:
                await asyncio.sleep(0.05)
            await _word(effects, until)
            await asyncio.sleep(seconds)
        finally:
            _write(effects, "spans", f"-{key}@{os.getpid()}")
        return key

    noting = tool(name="note", modes=both)(note)
    made.register(noting)
    spanning = tool(name="span", modes=both)(span)
    spanning.read_only = True
    made.register(spanning)
    looking = tool(name="look", modes=both)(look)
    looking.read_only = True
    made.register(looking)
    risking = tool(name="risky", modes=both, requires_permission=True)(risky)
    made.register(risking)
    return made


_FLAKY = {
    "child": ("toolgate.sessions.turns", "get", "toolgate.distributed.agents"),
    "question": ("toolgate.sessions.approvals", "ask", "toolgate.sessions.approvals"),
}
"""What fails once: a function of a module, as another module uses it."""


def _fail_once(kind: str) -> None:
    """Let the database fail when the first record of a kind is written, or something is done for the first time."""
    import importlib
    import types

    from toolgate.errors import StoreError
    from toolgate.sessions import SessionManager

    failed: list[str] = []

    def now() -> None:
        if not failed:
            failed.append(kind)
            raise StoreError("The database is unavailable.")

    if kind in _FLAKY:
        source, name, user = _FLAKY[kind]
        module = importlib.import_module(source)
        whole = getattr(module, name)
        changed = types.SimpleNamespace(**vars(module))
        setattr(changed, name, lambda *args, **named: now() or whole(*args, **named))  # type: ignore[func-returns-value]
        setattr(importlib.import_module(user), source.rpartition(".")[2], changed)
        return
    if kind == "mode":
        _fail_mode_once(now)
        return
    reading, appending = SessionManager.events, SessionManager.append

    async def events(self: SessionManager, *args: Any, **named: Any) -> Any:
        if kind == "events":
            now()
        return await reading(self, *args, **named)

    async def append(self: SessionManager, lease: Any, entries: list[Any], **named: Any) -> None:
        if any(getattr(entry, "kind", "") == kind for entry in entries):
            now()
        await appending(self, lease, entries, **named)

    SessionManager.events = events  # type: ignore[assignment, method-assign]
    SessionManager.append = append  # type: ignore[assignment, method-assign]


def _fail_mode_once(now: Callable[[], None]) -> None:
    """Let the database fail when a session's mode is read for the first time, in whichever way that is done."""
    from toolgate.errors import StoreError
    from toolgate.sessions import SessionManager

    getting, closed = SessionManager.get, SessionManager.get_mode

    async def get(self: SessionManager, session_id: str) -> Any:
        now()
        return await getting(self, session_id)

    async def get_mode(self: SessionManager, session_id: str) -> ToolMode:
        try:
            now()
        except StoreError:
            return ToolMode.chat_safe
        return await closed(self, session_id)

    SessionManager.get = get  # type: ignore[method-assign]
    SessionManager.get_mode = get_mode  # type: ignore[method-assign]


def pretend() -> None:
    """Be of another version, have a clock that is wrong or jumps, or lack a package, if the environment says so."""
    from toolgate.distributed import names

    names._FORMAT = int(os.environ.get("TEST_FORMAT", names._FORMAT))  # type: ignore[misc]
    if "TEST_REVISION" in os.environ:
        from tests.distributed.revisions import newer

        newer(os.environ["TEST_REVISION"])
    if "TEST_BREAK" in os.environ:
        from toolgate.agent.turn_factory import TurnFactory

        def broken(*_args: object, **_named: object) -> None:
            raise ZeroDivisionError

        TurnFactory.resume = broken  # type: ignore[assignment, method-assign]
    if "TEST_FLAKY" in os.environ:
        _fail_once(os.environ["TEST_FLAKY"])
    if os.environ.get("TEST_WITHOUT"):
        sys.modules[os.environ["TEST_WITHOUT"]] = None  # type: ignore[assignment]
    skew, real = float(os.environ.get("TEST_CLOCK_SKEW", "0")), time.time
    jumps = Path(os.environ["TEST_EFFECTS"]) / "jumps"
    time.time = lambda: (
        real() + skew + sum(float(line) for line in (jumps.read_text().split() if jumps.exists() else ()))
    )


def main(words: list[str]) -> None:
    """Work until a signal says to end."""
    pretend()
    workspaces = {name: Path(path) for name, _, path in (word.partition("=") for word in words)}
    made = registry(os.environ["TEST_EFFECTS"])
    asyncio.run(work(Settings(), workspaces, say=_say, model=StepModel(), registry=made))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
