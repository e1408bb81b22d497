"""The whole agent, `toolgate chat --print`, against a scripted model: how soon it asks, and what a tool round takes.

`start`: from the start of the process to the first request, every tool in it. `tool round`: from the last byte of an
answer to the next request, with the command run in the sandbox and everything written down; the median of 20. The floor
is a loop in plain Python that asks, runs bash without a sandbox and appends to a file. `cpu ms` is processor time: of
the whole process without a call, and of one round; on a busy machine it says more than the time on the clock. Memory is
that of all processes together, in a run of its own, because looking for it takes time.
"""

import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target

ROUNDS = 20
_MAX_SECONDS = 220
"""Seconds that an agent may take for all its rounds."""
_BYTES_A_TOKEN = 4


class Player:
    """Runs one agent again and again, in a home of its own, against a server of its own."""

    def __init__(self, agent: Any) -> None:
        from benchmarks.harness import DATA, ROOT

        DATA.mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.TemporaryDirectory(dir=DATA)
        self._home = Path(self._folder.name)
        (self._home / "work").mkdir()
        (self._home / "work" / "README.md").write_text("# demo\n")
        self._server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.agent_server"], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self._server.stdout is not None
        self._url = f"http://127.0.0.1:{self._server.stdout.readline().strip()}"
        start = agent(self._url, self._home) if callable(agent) else {"argv": agent}
        self._argv = [word.replace("{url}", self._url) for word in start["argv"]]
        self._variables: dict[str, str] = start.get("env", {})
        self._final: str | None = start.get("final")
        self.play(1)  # makes what the first run of all makes
        self.cpu = self.start_cpu = 0.0
        """Milliseconds of processor time of the last run, and of the last one without a call."""

    def __del__(self) -> None:
        self._server.terminate()
        self._server.wait()

    def play(self, rounds: int, *, watched: bool = False) -> tuple[float, list[dict[str, Any]], float]:
        """When it began, what the server saw, and, if it is watched, the most memory of the whole tree in MB."""
        self._http("/_reset", {"rounds": rounds, "final": self._final})
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",  # its own Node.js, too
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(Path(__file__).parent.parent),
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{self._url}/v1",
            "NO_PROXY": "127.0.0.1",
            "SHELL": "/bin/bash",
            "TERM": "dumb",
            **self._variables,
        }
        before, began = _children_cpu(), time.monotonic()
        process = subprocess.Popen(
            self._argv,
            cwd=self._home / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        memory = _Memory(process.pid) if watched else None
        try:
            output, _ = process.communicate(timeout=_MAX_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        peak = memory.ended() if memory is not None else 0.0
        self.cpu = _children_cpu() - before
        log = self._http("/_log")
        assert process.returncode == 0, output.decode()[-500:]
        assert len(log) == rounds + 1, f"{len(log)} requests: {output.decode()[-500:]}"
        assert log[-1]["ran"] >= 2 * rounds, "every command ran: its words are in the call and in the output"
        return began, log, peak

    def _http(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self._url + path, data=data) as answer:
            return json.load(answer)


class _Memory:
    """The most that a process and its descendants take together; one that was seen once only is not counted."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def ended(self) -> float:
        self._stop.set()
        self._thread.join()
        return self._peak / 2**20

    def _watch(self) -> None:
        before: dict[int, int] = {}
        while not self._stop.wait(0.1):
            now = self._tree()
            self._peak = max(self._peak, sum(size for pid, size in now.items() if pid in before))
            before = now

    def _tree(self) -> dict[int, int]:
        children: dict[int, list[int]] = {}
        sizes: dict[int, int] = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    fields = Path(f"/proc/{entry}/stat").read_bytes().rsplit(b")", 1)[1].split()
                except (OSError, IndexError):
                    continue
                children.setdefault(int(fields[1]), []).append(int(entry))
                sizes[int(entry)] = int(fields[21]) * 4096
        found, waiting = {}, [self._pid]
        while waiting:
            pid = waiting.pop()
            found[pid] = sizes.get(pid, 0)
            waiting += children.get(pid, [])
        return found


def _children_cpu() -> float:
    """Milliseconds of processor time of all processes that were started here, or by those, and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


async def setup(agent: Any) -> Player:
    """The agent, with its server: a command line, or a function of the server's address and a home that makes one."""
    return Player(agent)


async def measure(player: Player, case: str) -> Sample:
    """One run."""
    if case == "start":
        began, log, _ = player.play(0)
        tokens = log[0]["bytes"] / _BYTES_A_TOKEN
        player.start_cpu = player.cpu
        return Sample(value=(log[0]["read"] - began) * 1e3, extra={"tokens": tokens, "cpu ms": player.cpu})
    if case == "memory (MB)":
        _, _, peak = player.play(ROUNDS, watched=True)
        return Sample(value=peak, extra={"MB": peak})
    _, log, _ = player.play(ROUNDS)
    gaps = [(after["read"] - before["sent"]) * 1e3 for before, after in itertools.pairwise(log)]
    return Sample(value=statistics.median(gaps), extra={"cpu ms": (player.cpu - player.start_cpu) / ROUNDS})


_PROGRAM = str(Path(sys.executable).parent / "toolgate")

AGENT = Bench(
    name="agent",
    unit="ms",
    cases=["start", "tool round", "memory (MB)"],
    floor="plain loop",
    contenders={
        "plain loop": [sys.executable, "-m", "benchmarks.agent_server", "--floor", "{url}"],
        "toolgate": [_PROGRAM, "chat", "--coding", "--model", "mock", "--print", "go"],
    },
    setup=setup,
    measure=measure,
    role="agent",
    rounds=7,
    targets=[
        Target(contender="toolgate", case="start", at_most=4.0),
        Target(contender="toolgate", case="start", at_most=5000, extra="tokens"),
        Target(contender="toolgate", case="tool round", at_most=4.0),
        Target(contender="toolgate", case="memory (MB)", at_most=120, extra="MB"),
    ],
    note="sandboxed and persisted; the plain loop is neither sandboxed nor transactional",
)
