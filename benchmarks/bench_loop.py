"""The agent loop: a tool round with everything persisted, against its own commits; and the first event of a turn."""

import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

ROUNDS = 200
Play = Callable[[str], Awaitable[Sample]]


@contextlib.asynccontextmanager
async def _store() -> AsyncIterator[tuple[Any, str]]:
    """A store in a file, as durable as the default, and a session."""
    from benchmarks.harness import DATA
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import SessionSettings

    DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        database = Database(f"sqlite:///{Path(folder)}/bench.db")
        await database.migrate()
        sessions = SessionManager(database, SessionSettings())
        session = await sessions.create()
        try:
            yield sessions, session.id
        finally:
            await database.close()


async def commits() -> Play:
    """What a round writes, written through the same store in the same transactions, and nothing else."""
    from toolgate import ToolCall, ToolResponse, ToolResult
    from toolgate.agent.recording import TurnRecorder
    from toolgate.protocol.record import CallRecord
    from toolgate.sessions import Usage

    response = ToolResponse.success({"sum": 42}, "add returned a result.", stats={"time_ms": 0})

    def record(kind: Any, call_id: str, session_id: str) -> CallRecord:
        payload: dict[str, Any] = {"arguments": {"a": 2, "b": 40}}
        if kind == "decision":
            payload = {"decision": "allow", "gate": "permission", "rule": "", "reason": "no permission needed"}
        return CallRecord(kind=kind, session_id=session_id, call_id=call_id, tool_name="add", payload=payload)

    async def play(_case: str) -> Sample:
        async with _store() as (sessions, session_id):
            lease = await sessions.try_claim(session_id)
            turn = await sessions.start_turn(lease, "Add.")
            recorder = TurnRecorder(sessions, lease, turn.id)
            begin = time.perf_counter()
            for number in range(ROUNDS):
                call = ToolCall(id=f"c{number}", name="add", arguments='{"a": 2, "b": 40}')
                await recorder.message("", [call], Usage(), hold=True)
                for kind in ("decision", "started", "finished"):
                    await recorder.record(record(kind, call.id, session_id))
                result = ToolResult(
                    tool_call_id=call.id, is_error=False, output="42", message="", extras={}, response=response
                )
                await recorder.close([(call, result, '42\n{"sum":42}')])
            seconds = time.perf_counter() - begin
            assert len(await sessions.messages(session_id)) == 2 * ROUNDS + 1
        return Sample(value=seconds / ROUNDS * 1e6)

    return play


async def ours() -> Play:
    """The loop as users make it, with a scripted model."""
    import toolgate
    from toolgate.agent import AgentLoop, TextChunk, TurnDone
    from toolgate.settings import AgentSettings, Settings
    from toolgate.testing import ScriptedModel

    @toolgate.tool(modes=[toolgate.ToolMode.chat_safe])
    async def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    registry = toolgate.ToolRegistry()
    registry.register(add)
    agent = AgentSettings(max_rounds=1000, context_tokens=10_000_000)
    settings = Settings.defaults().model_copy(update={"agent": agent})

    async def rounds() -> Sample:
        turns: list[Any] = [
            [toolgate.ToolCall(id=f"c{number}", name="add", arguments='{"a": 2, "b": 40}')] for number in range(ROUNDS)
        ]
        times: list[float] = []
        async with _store() as (sessions, session_id):
            loop = AgentLoop(ScriptedModel([*turns, "done"]), registry, sessions, settings=settings)
            async for event in loop.handle_message(session_id, "Add."):
                if not times or isinstance(event, TextChunk):
                    times.append(time.perf_counter())
            assert isinstance(event, TurnDone)
            assert len(await sessions.messages(session_id)) == 2 * ROUNDS + 2
            await loop.aclose()
        return Sample(value=(times[-1] - times[0]) / ROUNDS * 1e6)

    async def first() -> Sample:
        waits = []
        async with _store() as (sessions, session_id):
            for _ in range(50):
                model = _Stamped()
                loop = AgentLoop(model, toolgate.builtin_registry(), sessions)
                events = []
                async for event in loop.handle_message(session_id, "Hello"):
                    if not model.seen:
                        model.seen = time.perf_counter()
                    events.append(type(event))
                await loop.aclose()
                assert events == [TextChunk, TurnDone], events
                waits.append(model.seen - model.yielded)
        middle = statistics.median(waits)
        return Sample(value=middle * 1e6, extra={"ms": middle * 1e3})

    async def play(case: str) -> Sample:
        return await (rounds() if case == "tool round" else first())

    return play


class _Stamped:
    """A model that knows when its first token went out."""

    yielded = seen = 0.0

    async def stream(self, request: Any) -> AsyncIterator[str]:
        self.yielded = time.perf_counter()
        yield "Hello"


async def setup(make: Callable[[], Awaitable[Play]]) -> Play:
    """The player of one contender."""
    return await make()


async def measure(play: Play, case: str) -> Sample:
    """One turn of many rounds."""
    return await play(case)


LOOP = Bench(
    name="loop",
    unit="µs",
    cases=["tool round"],
    floor="its own commits",
    contenders={"its own commits": commits, "toolgate": ours},
    setup=setup,
    measure=measure,
    rounds=5,
    targets=[Target(contender="toolgate", case="tool round", at_most=2.0)],
)

FIRST = Bench(
    name="first-event",
    unit="µs after the model's first token",
    cases=["first event"],
    floor="toolgate",
    contenders={"toolgate": ours},
    setup=setup,
    measure=measure,
    rounds=3,
    targets=[Target(contender="toolgate", case="first event", at_most=5.0, extra="ms")],
)
