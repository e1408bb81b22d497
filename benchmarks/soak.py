"""Long sessions and many contexts in one process: do memory, descriptors, threads and processes stay bounded?

    python -m benchmarks.soak turns --seconds 480
    python -m benchmarks.soak contexts --number 2000

`turns` runs turns over the gateway, in several sessions in rotation, with a model that follows a script. `contexts`
opens and closes `toolgate.open()`. Both print one row per 100, after a garbage collection.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import socket
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

TOKEN = "token-of-the-benchmark"
EVERY = 100
SHOWN = 4
"""Types of objects whose numbers have grown most, in each row."""

CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Bash", {"command": "echo hello; x=$((x + 1))"}),
    ("read_file", {"path": "notes.txt"}),
    ("grep", {"pattern": "line 1", "path": "."}),
    ("Bash", {"command": "seq 1 5000", "access": "read"}),
    ("ls", {"path": "."}),
    ("no_such_tool", {}),
)


class Script:
    """A model that makes one call per turn, in rotation, and then says that it has."""

    name = "script"

    def __init__(self) -> None:
        self._number = 0

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        from toolgate import ToolCall

        if request.messages[-1]["role"] == "tool":
            yield "Done."
            return
        self._number += 1
        name, arguments = CALLS[self._number % len(CALLS)]
        yield ToolCall(id=f"call-{self._number}", name=name, arguments=json.dumps(arguments))


class Readings:
    """Prints what the process holds, one row at a time."""

    def __init__(self) -> None:
        self._objects: Counter[str] = Counter()
        self.rows: list[tuple[float, int, int, int]] = []
        print(f"{'number':>7} {'s':>6} {'median ms':>9} {'MB':>7} {'fds':>4} {'threads':>7} {'children':>8} objects")

    def row(self, number: int, seconds: float, times: list[float]) -> None:
        """One row, and which types of objects have become more since the last."""
        gc.collect()
        memory = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        reading = memory, len(os.listdir("/proc/self/fd")), threading.active_count(), _children()
        objects = Counter(type(one).__qualname__ for one in gc.get_objects())
        grown = (objects - self._objects).most_common(SHOWN) if self._objects else []
        self._objects = objects
        more = " ".join(f"{name}+{count}" for name, count in grown)
        print(
            f"{number:>7} {seconds:>6.0f} {statistics.median(times) * 1000:>9.1f} {reading[0]:>7.1f} {reading[1]:>4} "
            f"{reading[2]:>7} {reading[3]:>8} {sum(objects.values())} {more}",
            flush=True,
        )
        self.rows.append(reading)


def _children() -> int:
    """Processes that this one has started and that are still there."""
    return sum(len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children"))


@contextlib.asynccontextmanager
async def _gateway(folder: str) -> AsyncIterator[int]:
    """The port of a gateway in this process."""
    from pydantic import SecretStr

    from toolgate.gateway import create_app
    from toolgate.gateway.server import GatewayServer
    from toolgate.settings import Settings

    settings = Settings.defaults()
    root = Path(folder) / "project"
    root.mkdir()
    (root / "notes.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    gateway = {"token": SecretStr(TOKEN), "port": port, "max_requests_per_second": 1_000_000}
    update = {
        "gateway": settings.gateway.model_copy(update=gateway),
        "database": settings.database.model_copy(update={"url": f"sqlite:///{folder}/soak.db"}),
        "workspace": settings.workspace.model_copy(update={"root": root}),
        "session": settings.session.model_copy(update={"coding_enabled": True}),
    }
    server = GatewayServer(create_app(settings.model_copy(update=update), model=Script()))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield port
    finally:
        server.should_exit = True
        await task


async def _turn(client: Any, session: str) -> float:
    """Seconds that a turn takes."""
    begin = time.perf_counter()
    params = {"session_id": session, "content": "Go on."}
    await client.send(json.dumps({"type": "request", "id": "turn", "method": "chat.send", "params": params}))
    while True:
        frame = json.loads(await client.recv())
        if frame["type"] == "error":
            raise RuntimeError(frame)
        if frame["type"] == "stream_chunk" and frame["data"]["done"]:
            return time.perf_counter() - begin


async def turns(seconds: float, number: int, sessions: int) -> None:
    """Run turns until the time is over or there were enough."""
    from websockets.asyncio.client import connect

    readings, begin = Readings(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        async with _gateway(folder) as port:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with connect(f"ws://127.0.0.1:{port}/ws", additional_headers=headers, max_size=None) as client:
                names = [await _session(client) for _ in range(sessions)]
                times: list[float] = []
                for count in range(1, number + 1):
                    times.append(await _turn(client, names[count % sessions]))
                    if count % EVERY == 0:
                        readings.row(count, time.monotonic() - begin, times)
                        times.clear()
                    if time.monotonic() - begin > seconds:
                        return


async def _session(client: Any) -> str:
    params = {"mode": "coding"}
    await client.send(json.dumps({"type": "request", "id": "new", "method": "session.create", "params": params}))
    while True:
        frame = json.loads(await client.recv())
        if frame["id"] == "new":
            name: str = frame["data"]["session_id"]
            return name


async def contexts(number: int) -> None:
    """Open and close contexts, with a command in each tenth of them."""
    import toolgate

    readings, begin, times = Readings(), time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notes.txt").write_text("one line\n")
        for count in range(1, number + 1):
            start = time.perf_counter()
            async with toolgate.open(folder, mode="coding") as toolset:
                name, arguments = CALLS[0] if count % 10 == 0 else CALLS[1]
                call = toolgate.ToolCall(id=str(count), name=name, arguments=json.dumps(arguments))
                result = await toolset.handle(call)
                assert not result.is_error, result.output
            times.append(time.perf_counter() - start)
            if count % EVERY == 0:
                readings.row(count, time.monotonic() - begin, times)
                times.clear()


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("turns", "contexts"))
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=8)
    args = parser.parse_args()
    if args.what == "turns":
        asyncio.run(turns(args.seconds, args.number, args.sessions))
    else:
        asyncio.run(contexts(args.number))


if __name__ == "__main__":
    main()
