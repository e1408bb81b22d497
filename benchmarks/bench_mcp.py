"""MCP over stdio: a call against the SDK's bare echo tool, and the way from nothing to the first list of tools."""

import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.bench import Bench, Sample, Target
from benchmarks.harness import DATA

_CALLS = 400
_ROOT = DATA / "mcp"


class Client:
    """Writes a line, reads a line: what a client adds is the same for all."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._next = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request and its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == self._next, answer
        result: dict[str, Any] = answer["result"]
        return result

    def begin(self, version: str = "2025-11-25") -> None:
        """The handshake and the list of tools."""
        info = {"name": "bench", "version": "1"}
        if version == "2026-07-28":
            said = {"protocolVersion": version, "clientInfo": info, "clientCapabilities": {}}
            meta = {f"io.modelcontextprotocol/{key}": value for key, value in said.items()}
            self.ask("server/discover", _meta=meta)
            assert self.ask("tools/list", _meta=meta)["tools"]
            return
        self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=info)
        assert self._process.stdin is not None
        self._process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        assert self.ask("tools/list")["tools"]

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


_ECHO: dict[str, list[str]] = {
    "bare, low-level": ["-m", "benchmarks.mcp_echo", "low-level"],
    "bare, MCPServer": ["-m", "benchmarks.mcp_echo", "high-level"],
    "toolgate": ["-m", "benchmarks.mcp_echo", "toolgate"],
}
_ANSWERS = {"echo": "hello", "read_file": "one", "current_time": "20"}
"""What has to be in the answer of a tool; a time has a century."""
_REAL = ["-m", "toolgate", "mcp", "--mode", "coding", "--root", str(_ROOT)]


def prepare() -> None:
    """A project with a file."""
    _ROOT.mkdir(parents=True, exist_ok=True)
    (_ROOT / "a.txt").write_text("one\n")


async def connect(implementation: tuple[list[str], str, dict[str, Any]]) -> tuple[Client, str, dict[str, Any]]:
    """A server that is warm."""
    argv, name, arguments = implementation
    client = Client(argv)
    client.begin()
    for _ in range(50):
        client.ask("tools/call", name=name, arguments=arguments)
    return client, name, arguments


async def measure_call(connected: tuple[Client, str, dict[str, Any]], case: str) -> Sample:
    """The middle of many calls, one after the other."""
    assert case == "call"
    client, name, arguments = connected
    times = []
    for _ in range(_CALLS):
        begin = time.perf_counter()
        result = client.ask("tools/call", name=name, arguments=arguments)
        times.append(time.perf_counter() - begin)
        assert not result.get("isError"), result
        assert _ANSWERS[name] in result["content"][0]["text"], result
    return Sample(value=sorted(times)[len(times) // 2] * 1e6)


async def measure_start(argv: list[str], case: str) -> Sample:
    """From the start of a process to its first list of tools; the best of three."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        client = Client(argv)
        client.begin(case)
        best = min(best, time.perf_counter() - begin)
        client.close()
    return Sample(value=best * 1e3)


CALL = Bench(
    name="mcp",
    unit="µs per call",
    cases=["call"],
    floor="bare, low-level",
    contenders={
        **{name: (argv, "echo", {"text": "hello"}) for name, argv in _ECHO.items()},
        "toolgate mcp, current_time": (_REAL, "current_time", {}),
        "toolgate mcp, read_file": (_REAL, "read_file", {"path": "a.txt"}),
    },
    setup=connect,
    measure=measure_call,
    prepare=prepare,
    targets=[
        Target(contender="toolgate", case="call", at_most=1.3),
        Target(contender="toolgate mcp, current_time", case="call", at_most=1.3),
    ],
    note="An echo tool on the SDK's own two servers and on Toolgate's; then two real tools of `toolgate mcp`.",
)

START = Bench(
    name="mcp_start",
    unit="ms to the first tools/list",
    cases=["2025-11-25", "2026-07-28"],
    floor="bare, low-level",
    contenders={**{name: argv for name, argv in _ECHO.items() if name != "toolgate"}, "toolgate mcp": _REAL},
    measure=measure_start,
    prepare=prepare,
    targets=[Target(contender="toolgate mcp", case=case, at_most=0.5) for case in ("2025-11-25", "2026-07-28")],
    note="By version of the protocol: the older one begins with `initialize`, the newer one with `server/discover`.",
)
