"""Where attacks take place: a root, a neighbour that must not change, and the oracles that hold after every case."""

import asyncio
import hashlib
import json
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolgate
from tests.support.privileges import public_directory, run_as
from toolgate.protocol.record import CallRecord
from toolgate.testing import AutoApprover
from toolgate.workspace.confine import Confinement

Call = tuple[str, dict[str, Any]]


class Records:
    """A recorder that keeps everything."""

    def __init__(self) -> None:
        self.all: list[CallRecord] = []

    async def record(self, record: CallRecord) -> None:
        self.all.append(record)


@dataclass(frozen=True)
class Outcome:
    """What a call came to."""

    status: str
    code: str | None
    text: str
    data: dict[str, Any]
    stats: dict[str, Any]
    context: dict[str, Any]
    output: str
    seconds: float
    """Processor time of the process and its children: how busy the machine is does not count."""
    growth: float
    """MiB by which the peak of the process's memory rose."""


class Arena:
    """`base/root` is the project; `base/root-evil`, a prefix twin of it, holds the canary."""

    def __init__(self, base: Path, uid: int) -> None:
        self.base, self.uid = base, uid
        self.root, self.evil = base / "root", base / "root-evil"
        self.canary = secrets.token_hex(16)
        for folder in (self.root, self.evil):
            folder.mkdir()
        (self.evil / "secret.txt").write_text(self.canary)
        (self.root / "control.txt").write_text("control\n")
        self.own()

    def own(self) -> None:
        """Give everything to the user who attacks, so that only Toolgate is in the way."""
        if os.geteuid() == 0:
            for path in (self.base, *self.base.rglob("*")):
                os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def manifest(self) -> dict[str, tuple[Any, ...]]:
        """Everything outside the root (oracle U1)."""
        found: dict[str, tuple[Any, ...]] = {}
        outside = [path for path in self.base.iterdir() if path != self.root]
        for path in [*outside, *(below for folder in outside for below in folder.rglob("*"))]:
            info = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(info.st_mode) else ""
            times = () if stat.S_ISDIR(info.st_mode) else (info.st_mtime_ns,)
            found[str(path)] = (content, info.st_mode, info.st_size, info.st_ino, *times)
        return found

    def call(self, name: str, confinement: Confinement = "auto", **arguments: Any) -> Outcome:
        """One call, as the attacker, with all oracles."""
        return self.calls([(name, arguments)], confinement=confinement)[0]

    def calls(
        self, calls: Sequence[Call], *, confinement: Confinement = "auto", swapping: bool = False
    ) -> list[Outcome]:
        """Calls of one session, one after another, each followed by the universal oracles."""
        if not swapping:
            self.own()
        before = self.manifest()
        outcomes = run_as(self.uid, lambda: _perform(self.root, list(calls), confinement))
        assert self.manifest() == before, "U1: something outside the root changed"
        for outcome in outcomes:
            assert self.canary not in repr(outcome), "U2: the canary got out"
        return outcomes


def _perform(root: Path, calls: list[Call], confinement: Confinement) -> list[Outcome]:
    return asyncio.run(_session(root, calls, confinement))


async def _session(root: Path, calls: list[Call], confinement: Confinement) -> list[Outcome]:
    records = Records()
    workspace = toolgate.Workspace(root, confinement=confinement)
    context = toolgate.ToolContext(
        workspace=workspace, mode=toolgate.ToolMode.coding, approver=AutoApprover(), recorder=records, session_id="s"
    )
    toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
    outcomes = []
    control: Call = ("read_file", {"path": "control.txt"})
    await _one(toolset, records, control, "warm")  # makes what a first call makes
    for number, call in enumerate(calls):
        outcomes.append(await _one(toolset, records, call, f"call-{number}"))
        alive = await _one(toolset, records, control, f"control-{number}")
        assert (alive.status, alive.data["content"]) == ("success", "     1\tcontrol"), "U6: the next call must work"
    await context.aclose()
    workspace.close()
    return outcomes


def _processor_time() -> float:
    return sum(os.times()[:4])


async def _one(toolset: toolgate.CallableToolset, records: Records, call: Call, call_id: str) -> Outcome:
    name, arguments = call
    _forget_peak()
    before, memory = _resources(), _peak()
    begin = _processor_time()
    result = await toolset.handle(toolgate.ToolCall(id=call_id, name=name, arguments=json.dumps(arguments)))
    seconds = _processor_time() - begin
    growth = _peak() - memory
    document = json.loads(result.response.to_json())
    assert toolgate.ToolResponse.model_validate(document).to_dict() == document, "U3: not a valid envelope"
    assert result.tool_call_id == call_id, "U3: the id got lost"
    assert await _returns_to(before), f"U4: {before} became {_resources()}"
    assert seconds <= 10, f"U5: took {seconds:.1f} s"
    assert growth <= 64, f"U5: grew by {growth:.0f} MiB"
    decisions = [one for one in records.all if one.kind == "decision" and one.call_id == call_id]
    assert len(decisions) == 1, f"U7: {len(decisions)} decisions were recorded"
    error = document.get("error")
    return Outcome(
        status=document["status"],
        code=error["code"] if error else None,
        text=document["text"],
        data=document["data"],
        stats=document["stats"],
        context=document["context"],
        output=result.output,
        seconds=seconds,
        growth=growth,
    )


def _resources() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), threading.active_count()


async def _returns_to(before: tuple[int, int]) -> bool:
    for _ in range(3000):
        if all(now <= then for now, then in zip(_resources(), before, strict=True)):
            return True
        await asyncio.sleep(0.01)
    return False


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except PermissionError:  # after a change of user the process is no longer its own to reset
        return


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


@contextmanager
def arena_for(uid: int) -> Iterator[Arena]:
    """A new arena in a directory that every user can reach."""
    with public_directory("toolgate-arena-") as base:
        yield Arena(base, uid)
