"""Commands that exhaust processes, memory, disk or time are contained, and the next one works."""

import asyncio
import ctypes
import gc
import json
import os
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.shell.hints import kit as hints
from tests.support.shells import EVERY_LAYER, Shells, processes_with
from toolgate import Approval, ApprovalRequest, ToolResult
from toolgate.shell.options import MIB, ShellOptions
from toolgate.shell.result import CommandResult
from toolgate.shell.session import ShellSession
from toolgate.workspace import Workspace

TORTURE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
WARM = 120
SOAK = {"bwrap": WARM + 240 * TORTURE}
"""Calls of the soak by layer; fewer where each shell starts a Python."""
MIXED: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "f"}),
    ("grep", {"pattern": "hel"}),
    ("glob", {"pattern": "**"}),
    ("Bash", {"command": "echo $((n += 1))"}),
    ("ls", {}),
    ("edit_file", {"path": "f", "old_string": "hello", "new_string": "bye", "dry_run": True}),
    ("write_file", {"path": "new", "content": "x"}),
    ("Bash", {"command": "read f"}),
    ("nonsense", {}),
    ("Bash", {"command": "ls | wc -l", "access": "read"}),
    ("todo", {"items": []}),
    ("Bash", {"command": "cat nothing; exit 3"}),
]
"""Calls that fail only where they have to."""


class Calls:
    """Calls of tools through the whole pipeline, in a session of the shell that the test is given."""

    def __init__(self, session: ShellSession, shells: Shells) -> None:
        (shells.root / "f").write_text("hello\n")
        self._access = shells.access
        self._context = toolgate.ToolContext(
            workspace=Workspace(shells.root),
            mode=toolgate.ToolMode.coding,
            approver=Yes(),
            session_id="s",
            shell=session,
        )
        self._toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, self._context)
        self._number = 0

    async def __call__(self, name: str, /, **arguments: Any) -> ToolResult:
        self._number += 1
        if name == "Bash":
            arguments.setdefault("access", self._access)
        call = toolgate.ToolCall(id=f"c{self._number}", name=name, arguments=json.dumps(arguments))
        result = await self._toolset.handle(call)
        assert result.tool_call_id == call.id
        return result

    async def recovered(self) -> list[str]:
        """What a read and a command answer, now that there is nothing in their way."""
        reading = await self("Bash", command="read f")
        command = await self("Bash", command="cat f")
        return [reading.response.data["routed"]["content"].partition("\t")[2] + "\n", command.response.data["stdout"]]


class Yes:
    """Agrees to everything and keeps nothing."""

    async def decide(self, request: ApprovalRequest) -> Approval:
        return Approval(allowed=True)


@contextmanager
def few_descriptors(left: int) -> Iterator[None]:
    """Take all descriptors that can be had but a few."""
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        for fd in held[:left]:
            os.close(fd)
    try:
        yield
    finally:
        for fd in held[left:]:
            os.close(fd)


async def settled(session: ShellSession) -> int:
    """How many descriptors are open when no shell waits; files that the next shells will use again apart."""
    await asyncio.sleep(0.2)
    await session.restart()
    while any(not sandbox.is_lost for sandbox in session._parts()[0]._sandboxes._sandboxes):
        await asyncio.sleep(0.005)
    links = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return sum("/state-" not in link for link in links)


def zombies() -> list[str]:
    """Children of this process that have ended and were not waited for."""
    found = []
    for child in Path("/proc/self/task").glob("*/children"):
        for pid in child.read_text().split():
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            found += [pid] if state == "Z" else []
    return found


def resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def one_heap() -> None:
    """Let all threads share one heap: each further one keeps 2 MiB, and how many glibc makes depends on timing."""
    with suppress(AttributeError):  # another C library has only one
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


_ARENA_MAX = -8


def slope(points: list[tuple[int, int]]) -> float:
    """The smaller growth of the two halves: a leak grows in both, a sudden block of memory in one."""
    half = len(points) // 2
    halves = (points[:half], points[half:])
    return min((part[-1][1] - part[0][1]) / (part[-1][0] - part[0][0]) for part in halves)


@EVERY_LAYER
def test_r01_a_fork_bomb_is_contained_and_cleaned_up(shells: Shells) -> None:
    shells.options = ShellOptions(processes=64)
    mark = "toolgate_test_bomb"

    async def script(session: ShellSession) -> tuple[CommandResult, int, CommandResult]:
        report = session.sandbox(shells.access)
        if "processes" not in report.limits:
            pytest.skip("root without a control group: mount one that is writable, or run as another user")
        bomb = asyncio.ensure_future(
            session.execute(f"{mark}() {{ {mark} | {mark} & }}; {mark}; sleep 1; wait", 2, shells.access)
        )
        ticks = 0
        while not bomb.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return await bomb, ticks, await session.execute("echo alive", 60, shells.access)

    bomb, ticks, after = shells.run(script)

    assert "fork" in bomb.stderr
    assert ticks > 5  # the loop goes on meanwhile
    assert after.stdout == "alive\n"
    assert processes_with(mark) == []


@EVERY_LAYER
def test_r02_a_greedy_allocation_fails_and_says_why(shells: Shells) -> None:
    shells.options = ShellOptions(memory_bytes=256 * MIB)
    result, after = shells.commands("python3 -I -c 'bytearray(64 << 30)'", "echo alive")

    assert result.exit_code == 1
    assert "MemoryError" in result.stderr
    assert result.hint == hints.MEMORY
    assert after.stdout == "alive\n"


@EVERY_LAYER
def test_r03_a_file_that_grows_for_ever_is_stopped(shells: Shells) -> None:
    shells.options = ShellOptions(file_bytes=8 * MIB)
    result, after = shells.commands("dd if=/dev/zero of=$TMPDIR/f bs=1M", "wc -c < $TMPDIR/f")

    assert result.exit_code not in (0, None)
    assert result.hint == hints.FILE
    assert after.stdout == f"{8 * MIB}\n"


@EVERY_LAYER
def test_r06_an_endless_loop_meets_its_deadline(shells: Shells) -> None:
    result, after = shells.commands("while :; do :; done", "echo alive", timeout=1)

    assert (result.timed_out, result.exit_code) == (True, None)
    assert after.stdout == "alive\n"


@EVERY_LAYER
@pytest.mark.timeout(120)
def test_r07_without_descriptors_calls_fail_and_then_recover(shells: Shells) -> None:
    """256 descriptors: 600 reads at a time, then calls while there is next to none left."""

    async def script(session: ShellSession) -> tuple[Counter[str], Counter[str], list[str], list[int]]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        calls = Calls(session, shells)
        at_once = await asyncio.gather(*(calls("read_file", path="f") for _ in range(600)))
        starved = [await calls(name, **arguments) for name, arguments in MIXED * 2][:0]
        before, opened = await calls.recovered(), await settled(session)
        for left in (0, 1, 2, 3, 5, 8, 13):
            with few_descriptors(left):
                starved += [await calls(name, **arguments) for name, arguments in MIXED]
            before += await calls.recovered()
        return (
            Counter(result.response.status.value for result in at_once),
            Counter(result.response.error.code.value for result in starved if result.response.error),
            before,
            [opened, await settled(session), len(zombies())],
        )

    statuses, codes, recovered, (opened, after, dead) = shells.run_apart(script)

    assert sum(statuses.values()) == 600
    assert statuses["success"] > 0
    assert codes["EXECUTION_ERROR"] > 0
    assert "INTERNAL_ERROR" not in codes
    assert recovered == ["hello\n"] * 16
    assert after == opened
    assert dead == 0


async def _alone(session: ShellSession) -> None:
    """No shell waits for the next command: how many do depends on how quickly commands come."""
    for _ in range(10):
        await asyncio.sleep(0)
    session._parts()[0].discard()


@EVERY_LAYER
@pytest.mark.torture
@pytest.mark.timeout(120 + 20 * TORTURE)
def test_r10_thousands_of_calls_leave_nothing_behind(shells: Shells) -> None:
    """`TOOLGATE_TORTURE=41` makes it 10,000 calls."""

    many = SOAK.get(shells.layer, WARM + 120 * TORTURE)

    async def script(session: ShellSession) -> tuple[list[tuple[int, int, int, int]], int]:
        one_heap()
        gc.freeze()  # what the tests themselves hold needs no looking through
        calls, samples, failed = Calls(session, shells), [], 0
        for number in range(many):
            name, arguments = MIXED[number % len(MIXED)]
            failed += (await calls(name, **arguments)).response.error is not None
            if number % 12 == 0 and number >= WARM:
                await _alone(session)
                gc.collect()
                samples.append((number, resident_kb(), len(os.listdir("/proc/self/fd")), len(zombies())))
        return samples, failed

    samples, failed = shells.run_apart(script)
    third = len(samples) // 3

    assert slope([(number, memory) for number, memory, _, _ in samples]) < 1.0
    assert max(fds for _, _, fds, _ in samples[-third:]) <= max(fds for _, _, fds, _ in samples[:third]) + 2
    assert max(dead for *_, dead in samples) <= 2  # one that has just ended and is not reaped yet
    assert failed == sum(name == "nonsense" for name, _ in MIXED) * many // len(MIXED)


@EVERY_LAYER
def test_a_shell_that_was_started_in_advance_reads_files_that_were_written_since(shells: Shells) -> None:
    """Landlock rules hold for files, not for names: one that is written anew has no right in older rules."""
    (shells.root / "old.txt").write_text("old\n")

    async def script(session: ShellSession) -> CommandResult:
        starter = session._parts()[0]
        while not starter._spares:  # the first sandbox that is used again has none until the next command has ended
            await session.execute("true", 20, shells.access)
            await asyncio.sleep(0.01)
        (shells.root / "next").write_text("replaced\n")
        os.replace(shells.root / "next", shells.root / "old.txt")
        (shells.root / "new").mkdir()
        (shells.root / "new" / "file").write_text("made\n")
        return await session.execute("cat old.txt new/file", 20, shells.access)

    result = shells.run(script)

    assert (result.stdout, result.stderr) == ("replaced\nmade\n", "")


def test_after_long_output_the_next_shell_starts_too(shells: Shells) -> None:
    async def script(session: ShellSession) -> tuple[bool, bool]:
        result = await session.execute("seq 200000", 20, shells.access)
        starter = session._parts()[0]
        before = bool(starter._spares or starter._sandboxes._sandboxes)
        while not (starter._spares or starter._sandboxes._sandboxes):
            await asyncio.sleep(0.001)
        return result.truncated, before

    assert shells.run(script) == (True, False)
