"""What the tests of real agents share: a project, a home, the server that an agent starts, and ways to drive it."""

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.adapters.mcp_server.kit import environment, words
from tests.adapters.outside.conftest import npm_environment
from toolgate.sessions import Database, SessionManager
from toolgate.settings import SessionSettings

Json = dict[str, Any]
LIMIT = 120
"""Seconds that an agent may take; the machine may be busy."""
READ = ("read_file", {"path": "a.txt"})
REMOVE = ("Bash", {"command": "rm a.txt"})
TEXT = "the text of the file"
READ_LONG = ("read_file", {"path": "long.txt"})
"""Reads the first page of a file that has several."""


@dataclass(frozen=True, slots=True)
class Place:
    """A project with one file, and the home of a user who has set nothing."""

    root: Path
    home: Path

    @property
    def policy(self) -> Path:
        """The user's policy file."""
        return self.home / "config" / "toolgate" / "policy.toml"

    def has_file(self) -> bool:
        """Whether the file of the project is still there."""
        return (self.root / "a.txt").exists()

    def server(self, *options: str) -> Json:
        """Return the server as most agents want it in their settings; all calls are recorded."""
        command, *args = words(self.root, "--record", *options)
        return {"command": command, "args": args, "env": environment(self.home)}

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of an agent, in which nothing of the machine's user counts."""
        caches = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CACHE", "STATE")}
        return {**environment(self.home), **caches, "PATH": npm_environment()["PATH"], "NO_COLOR": "1", **more}

    def write(self, path: str, text: str | Json) -> None:
        """Write a file into the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text))

    def allow(self, denial: str) -> None:
        """Put the rule that a denial names into the user's policy."""
        rule = denial[denial.index("[[rule]]") :]
        self.write(str(self.policy.relative_to(self.home)), rule[: rule.index('"allow"') + len('"allow"')] + "\n")

    async def record_of(self, tool: str) -> str | None:
        """Wait until the end of a call is recorded; return the code of its error.

        An agent may end its server at once, so that this has to come before the agent's end.
        """
        async with asyncio.timeout(30):
            while True:
                ended = dict(await self.recorded()) if self._database.exists() else {}
                if tool in ended:
                    return ended[tool]
                await asyncio.sleep(0.05)

    @property
    def _database(self) -> Path:
        return self.home / "data" / "toolgate" / "toolgate.db"

    async def recorded(self) -> list[tuple[str, str | None]]:
        """The calls that ended, in the record: the tool and the code of its error."""
        database = Database(f"sqlite:///{self._database}")
        try:
            manager = SessionManager(database, SessionSettings(coding_enabled=True))
            return [
                (event.payload["tool_name"], event.payload.get("code"))
                for session in await manager.list()
                for event in await manager.events(session.id)
                if event.kind == "call_finished"
            ]
        finally:
            await database.close()


def place(directory: Path) -> Place:
    """Make a project and a home."""
    found = Place(root=directory / "project", home=directory / "home")
    found.root.mkdir()
    found.home.mkdir()
    (found.root / "a.txt").write_text(f"{TEXT}\n")
    (found.root / "long.txt").write_text("".join(f"line {number} of a long file\n" for number in range(1, 5001)))
    return found


def page(text: str) -> range:
    """The lines of the long file that a model reads; they have no gap if the agent cut nothing."""
    lines = [int(number) for number in re.findall(r"line (\d+) of a long file", text)]
    found = range(lines[0], lines[-1] + 1)
    assert lines == list(found), "the agent has cut the page"
    return found


async def run(argv: list[str], at: Place, env: dict[str, str]) -> str:
    """Run an agent that takes one task and ends; return what it printed."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=at.root,
        env=env,
        start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), LIMIT)
    finally:
        await _end(process)
    assert process.returncode == 0, out.decode()
    return out.decode()


class Driver:
    """An agent that speaks lines of JSON with the program that shows it, as editors and apps do."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[Json] = []
        """What came, in its order."""

    async def send(self, **message: Any) -> None:
        """Write one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def until(self, wanted: Callable[[Json], bool]) -> Json:
        """Read until a message comes that is wanted."""
        async with asyncio.timeout(LIMIT):
            while True:
                message = await self._receive()
                if wanted(message):
                    return message

    async def request(self, number: int, method: str, **params: Any) -> Json:
        """A request of JSON-RPC, and its result."""
        await self.send(jsonrpc="2.0", id=number, method=method, params=params)
        answer = await self.until(lambda message: message.get("id") == number and "method" not in message)
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    async def question(self, method: str) -> Json:
        """Wait for a request of the agent."""
        return await self.until(lambda message: message.get("method") == method)

    async def _receive(self) -> Json:
        assert self.process.stdout is not None
        while True:
            line = await self.process.stdout.readline()
            assert line, f"the agent has ended, after {self.seen[-3:]}"
            with contextlib.suppress(ValueError):  # some agents print warnings between the messages
                message: Json = json.loads(line)
                self.seen.append(message)
                return message


@contextlib.asynccontextmanager
async def driving(argv: list[str], at: Place, env: dict[str, str]) -> AsyncIterator[Driver]:
    """Start an agent that is driven by messages, and end it with the block."""
    with (at.home / "stderr.txt").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=at.root,
            env=env,
            start_new_session=True,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=1 << 24,
        )
    try:
        yield Driver(process)
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End an agent: at the end of its input, else by signals, at last with everything that it started."""
    if process.stdin is not None:
        process.stdin.close()
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 60)
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
    await process.wait()
    if process.stdout is not None:
        await asyncio.wait_for(process.stdout.read(), 30)  # its server has it, too, until it has ended
