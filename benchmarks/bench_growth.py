"""What grows with use: long sessions, many tools, many rules, large projects, and many open sessions.

Processor time of one process, so that the answer is the same on a busy machine. The first case is 1.0.
"""

import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

Step = Callable[[], Awaitable[None]]
"""One turn, request or command; it checks its own answer."""

_STEPS = 12
"""Steps per sample; the cheapest counts."""


class FiveCalls:
    """Asks for five calls, one after the other, then says that it is done; and summarises when asked."""

    def __init__(self) -> None:
        self._count = 0

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """The next step, whatever was said."""
        from toolgate import ToolCall

        self._count += 1
        if not request.tools:
            yield "They added numbers."
        elif request.messages[-1]["role"] == "tool" and self._count % 6 == 0:
            yield "Done."
        else:
            yield ToolCall(id=f"call-{self._count}", name="tool_0", arguments='{"a": 2, "b": 40}')


def registry(number: int) -> Any:
    """So many tools."""
    from toolgate import ToolMode, ToolRegistry, tool

    made = ToolRegistry()
    for count in range(number):

        @tool(name=f"tool_{count}", modes={ToolMode.chat_safe})
        async def add(a: int, b: int) -> dict[str, int]:
            """Add two numbers."""
            return {"sum": a + b}

        made.register(add)
    return made


async def turns(messages: int, tool_count: int = 1) -> Step:
    """A turn of five calls in a session that has so many messages and tools."""
    from toolgate import ToolCall
    from toolgate.agent import AgentLoop, TurnDone
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import Settings

    settings = Settings.defaults()
    database = Database(f"sqlite:///{tempfile.mkdtemp()}/growth.db")
    await database.migrate()
    sessions = SessionManager(database, settings.session)
    session = await sessions.create()
    lease = await sessions.try_claim(session.id)
    assert lease is not None
    turn = await sessions.start_turn(lease, "Go.")
    more: dict[str, Any] = {"lease": lease, "turn_id": turn.id}
    for number in range(messages // 2):
        call = ToolCall(id=f"p{number}", name="add", arguments='{"a": 1, "b": 2}')
        await sessions.append_message(session.id, "assistant", "Some words on the way. " * 5, tool_calls=[call], **more)
        await sessions.append_message(session.id, "tool", "result " * 30, tool_call_id=call.id, **more)
    await sessions.finish_turn(lease, turn.id, "done")
    await sessions.release(lease)
    loop = AgentLoop(FiveCalls(), registry(tool_count), sessions, settings=settings)

    async def step() -> None:
        events = [event async for event in loop.handle_message(session.id, "Go on.")]
        assert isinstance(events[-1], TurnDone), events[-1]

    return step


async def tools(number: int) -> Step:
    """The same turn in a short session with so many tools."""
    return await turns(10, number)


async def rules(number: int) -> Step:
    """A command under so many rules of the user, none of which applies."""
    import toolgate
    from toolgate.settings import Settings

    root = Path(tempfile.mkdtemp())
    (root / "a.txt").write_text("hello\n")
    policy = root / "policy.toml"
    policy.write_text(
        "".join(f'[[rule]]\ntool = "Bash"\nwords = ["word{n}"]\ndecision = "deny"\n' for n in range(number))
    )
    (root / "work").mkdir()
    opened = toolgate.open(root / "work", "coding", settings=Settings.of(policy_file=policy))
    toolset = await opened.__aenter__()

    async def step() -> None:
        assert opened is not None  # it closes the project when nobody holds it
        result = await toolset.handle(toolgate.ToolCall(id="1", name="Bash", arguments='{"command": "pwd"}'))
        assert result.response.status == "success", result.output

    return step


async def files(number: int) -> Step:
    """A command, a listing and a file in a project with so many files."""
    import toolgate
    from benchmarks.harness import DATA

    root = DATA / f"growth-{number}"
    if not (root / "made").exists():
        for place in range(number // 100):
            (root / f"d{place}").mkdir(parents=True, exist_ok=True)
            for file in range(100):
                (root / f"d{place}" / f"f{file}.txt").write_text(f"{place} {file}\n")
        (root / "made").touch()
    opened = toolgate.open(root, "coding")
    toolset = await opened.__aenter__()
    calls = [("Bash", '{"command": "pwd"}'), ("ls", '{"path": "d0"}'), ("read_file", '{"path": "d0/f7.txt"}')]

    async def step() -> None:
        assert opened is not None  # it closes the project when nobody holds it
        for name, arguments in calls:
            result = await toolset.handle(toolgate.ToolCall(id="1", name=name, arguments=arguments))
            assert result.response.status == "success", result.output

    return step


async def sessions(number: int) -> Step:
    """A turn of five calls in one of so many sessions that one loop has open."""
    from toolgate.agent import AgentLoop, TurnDone
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import Settings

    settings = Settings.defaults()
    database = Database(f"sqlite:///{tempfile.mkdtemp()}/growth.db")
    await database.migrate()
    manager = SessionManager(database, settings.session)
    loop = AgentLoop(FiveCalls(), registry(1), manager, settings=settings)
    found = [await manager.create() for _ in range(number)]
    for session in found:
        assert isinstance([event async for event in loop.handle_message(session.id, "Go.")][-1], TurnDone)

    async def step() -> None:
        events = [event async for event in loop.handle_message(found[-1].id, "Go on.")]
        assert isinstance(events[-1], TurnDone), events[-1]

    return step


_KINDS: dict[str, Callable[[int], Awaitable[Step]]] = {
    "messages": turns,
    "tools": tools,
    "rules": rules,
    "files": files,
    "sessions": sessions,
}


async def setup(kind: str) -> Callable[[str], Awaitable[Step]]:
    """Make what a case needs, once for each case."""
    made: dict[str, Step] = {}

    async def get(case: str) -> Step:
        if case not in made:
            made[case] = await _KINDS[kind](int(case.partition(" ")[0].replace(",", "")))
            await made[case]()
        return made[case]

    return get


async def measure(get: Callable[[str], Awaitable[Step]], case: str) -> Sample:
    """The processor time of the cheapest of some steps."""
    step = await get(case)
    times = []
    for _ in range(_STEPS):
        begin = time.process_time()
        await step()
        times.append(time.process_time() - begin)
    return Sample(value=min(times) * 1e3)


def _growth(kind: str, cases: tuple[str, ...], at_most: float) -> Bench:
    last = Target(contender="toolgate", case=cases[-1], at_most=at_most, against="toolgate", against_case=cases[0])
    return Bench(
        name=f"growth {kind}",
        unit="ms of processor time",
        cases=cases,
        floor="toolgate",
        contenders={"toolgate": kind},
        setup=setup,
        measure=measure,
        rounds=3,
        targets=[last],
    )


MESSAGES = _growth("messages", ("10 messages", "1,000 messages", "10,000 messages"), 1.3)
RULES = _growth("rules", ("1 rules", "100 rules", "1,000 rules"), 1.3)
TOOLS = _growth("tools", ("10 tools", "100 tools", "1,000 tools"), 1.3)
FILES = _growth("files", ("100 files", "10,000 files", "100,000 files"), 1.3)
SESSIONS = _growth("sessions", ("10 sessions", "100 sessions", "1,000 sessions"), 1.3)
