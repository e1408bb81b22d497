"""The gateway against a bare echo on the same server stack: frames of a session, latency under load, idle sessions."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target
from benchmarks.harness import DATA, ROOT
from benchmarks.ws_client import Counter, open_socket

TOKEN = "token-of-the-benchmark"
FRAMES = 60_000
LOAD = 32
SECONDS = 2.0
IDLE = 1000
MESSAGE = b'{"type":"tool_call","id":"c1","name":"add","arguments":"{}"}....'
RESPONSE = b'"type":"response"'
WORDS = "a few words "


class Talker:
    """A model that says as many small things as it was asked for, as fast as it can."""

    async def stream(self, request: Any) -> AsyncIterator[str]:
        for number in range(int(request.messages[-1]["content"])):
            yield WORDS
            if number % 16 == 15:
                await asyncio.sleep(0)


def serve_echo(port: int) -> None:
    """A Starlette endpoint that sends back what it gets."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                await socket.send_text(await socket.receive_text())

    app = Starlette(routes=[WebSocketRoute("/ws", echo)])
    options: dict[str, Any] = {"ws": "websockets-sansio", "ws_per_message_deflate": False, "log_level": "error"}
    uvicorn.run(app, host="127.0.0.1", port=port, backlog=2048, **options)


def serve_toolgate(port: int) -> None:
    """The gateway as `toolgate serve` runs it, with a model that talks."""
    import socket

    from pydantic import SecretStr

    from toolgate.gateway import create_app
    from toolgate.gateway.server import GatewayServer
    from toolgate.settings import Settings

    folder = tempfile.mkdtemp(dir=DATA)
    settings = Settings.defaults()
    gateway = {"token": SecretStr(TOKEN), "port": port, "max_requests_per_second": 1_000_000}
    update = {
        "gateway": settings.gateway.model_copy(update=gateway),
        "database": settings.database.model_copy(update={"url": f"sqlite:///{folder}/bench.db"}),
        "workspace": settings.workspace.model_copy(update={"root": Path(folder)}),
    }
    app = create_app(settings.model_copy(update=update), model=Talker())
    GatewayServer(app).run(sockets=[socket.create_server(("127.0.0.1", port), backlog=2048)])


@contextlib.asynccontextmanager
async def _server(kind: str) -> AsyncIterator[tuple[int, int]]:
    """Port and process id of a server of its own."""
    import socket

    DATA.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"from benchmarks.bench_gateway import serve_{kind}; serve_{kind}({port})"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            await asyncio.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        await process.wait()


def _cpu(pid: int) -> float:
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _ask(client: Counter, method: str, **params: Any) -> dict[str, Any]:
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    client.on_frame = lambda frame: None if answer.done() else answer.set_result(frame)
    client.send(json.dumps({"type": "request", "id": "q", "method": method, "params": params}).encode())
    frame: dict[str, Any] = json.loads(await asyncio.wait_for(answer, 30))
    assert frame["type"] == "response", frame
    data: dict[str, Any] = frame["data"]
    return data


def _memory(pid: int) -> float:
    """Megabytes that a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def _ping_pong(clients: list[Counter], message: bytes, answer: bytes, seconds: float) -> tuple[int, float]:
    """Every client sends again as soon as it has its answer; how many answers came, in how long.

    A frame without `answer` is none.
    """
    count, end = 0, time.perf_counter() + seconds
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = len(clients)

    def again(client: Counter) -> Callable[[bytes], None]:
        def came(frame: bytes) -> None:
            nonlocal count, left
            if over.done():
                return
            if answer not in frame:
                over.set_exception(AssertionError(frame))
            count += 1
            if time.perf_counter() < end:
                client.send(message)
                return
            left -= 1
            if not left and not over.done():
                over.set_result(None)

        return came

    begin = time.perf_counter()
    for client in clients:
        client.on_frame = again(client)
        client.send(message)
    await over
    return count, time.perf_counter() - begin


async def _latency_under_load(clients: list[Counter], probe: Counter, message: bytes, answer: bytes) -> Sample:
    """The 99th percentile of one client's round trip while the others are at it."""
    times: list[float] = []

    async def measure() -> None:
        await asyncio.sleep(0.3)
        end = time.perf_counter() + SECONDS - 0.6
        while time.perf_counter() < end:
            came: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            probe.on_frame = came.set_result
            begin = time.perf_counter()
            probe.send(message)
            frame = await came
            times.append(time.perf_counter() - begin)
            assert answer in frame, frame

    (count, seconds), _ = await asyncio.gather(_ping_pong(clients, message, answer, SECONDS), measure())
    times.sort()
    return Sample(
        value=times[int(len(times) * 0.99)] * 1e6,
        extra={"p50_us": times[len(times) // 2] * 1e6, "messages_per_s": count / seconds},
    )


async def echo() -> Callable[[str], Awaitable[Sample]]:
    """The floor."""

    async def play(case: str) -> Sample:
        async with _server("echo") as (port, pid):
            if case == "idle":
                before = _memory(pid)
                clients = [await open_socket(port) for _ in range(IDLE)]
                return Sample(value=_memory(pid) - before, extra={"total_mb": _memory(pid), "clients": len(clients)})
            clients = [await open_socket(port) for _ in range(64 if case == "frame" else LOAD)]
            if case == "latency":
                return await _latency_under_load(clients, await open_socket(port), MESSAGE, MESSAGE)
            await _ping_pong(clients, MESSAGE, MESSAGE, 0.3)
            used = _cpu(pid)
            count, seconds = await _ping_pong(clients, MESSAGE, MESSAGE, SECONDS)
            used = _cpu(pid) - used
            extra = {"frames_per_s": count / seconds, "cpu_us": used / count * 1e6}
            return Sample(value=seconds / count * 1e6, extra=extra)

    return play


async def ours() -> Callable[[str], Awaitable[Sample]]:
    """The gateway."""
    headers = {"Authorization": f"Bearer {TOKEN}"}

    async def frames(port: int, pid: int) -> Sample:
        client = await open_socket(port, **headers)
        session = (await _ask(client, "session.create"))["session_id"]
        count = said = 0
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def came(frame: bytes) -> None:
            nonlocal count, said
            count += 1
            said += frame.count(WORDS.encode())
            if b'"done":true' in frame:
                over.set_result(None)

        async def turn(length: int) -> float:
            nonlocal over, count, said
            count, said, over = 0, 0, asyncio.get_running_loop().create_future()
            params = {"session_id": session, "content": str(length)}
            client.on_frame = came
            begin = time.perf_counter()
            client.send(json.dumps({"type": "request", "id": "t", "method": "chat.send", "params": params}).encode())
            await over
            seconds = time.perf_counter() - begin
            assert said == length, f"{said} of {length} pieces came"
            return seconds

        await turn(2000)
        used = _cpu(pid)
        seconds = await turn(FRAMES)
        used = _cpu(pid) - used
        extra = {"frames_per_s": count / seconds, "merged": FRAMES + 1 - count, "cpu_us": used / FRAMES * 1e6}
        return Sample(value=seconds / FRAMES * 1e6, extra=extra)

    async def idle(port: int, pid: int) -> Sample:
        before = _memory(pid)
        for _ in range(IDLE):
            client = await open_socket(port, **headers)
            session = (await _ask(client, "session.create"))["session_id"]
            await _ask(client, "session.subscribe", session_id=session)
        await asyncio.sleep(1)
        used = _cpu(pid)
        await asyncio.sleep(2)
        extra = {"total_mb": _memory(pid), "idle_cpu_percent": (_cpu(pid) - used) / 2 * 100}
        return Sample(value=_memory(pid) - before, extra=extra)

    async def play(case: str) -> Sample:
        async with _server("toolgate") as (port, pid):
            if case == "frame":
                return await frames(port, pid)
            if case == "idle":
                return await idle(port, pid)
            clients = [await open_socket(port, **headers) for _ in range(LOAD + 1)]
            params = {"session_id": "01a1e362"}
            request = {"type": "request", "id": "1", "method": "session.unsubscribe", "params": params}
            return await _latency_under_load(clients[1:], clients[0], json.dumps(request).encode(), RESPONSE)

    return play


async def _set_up(make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()


async def _measure(play: Callable[[str], Awaitable[Sample]], case: str) -> Sample:
    return await play(case)


GATEWAY = Bench(
    name="gateway",
    unit="µs",
    cases=("frame", "latency"),
    floor="echo",
    contenders={"echo": echo, "toolgate": ours},
    setup=_set_up,
    measure=_measure,
    rounds=3,
    targets=(
        Target(contender="toolgate", case="frame", at_most=2.0),
        Target(contender="toolgate", case="latency", at_most=3.0),
    ),
    note=(
        "`frame`: one frame of a streaming turn, from the model through the loop to a client; the echo's is one of "
        "64 clients' round trips. `latency`: 99th percentile of a small request while 32 others are at it."
    ),
)

IDLING = Bench(
    name="gateway-idle",
    unit="MB",
    cases=("idle",),
    floor="echo",
    contenders={"echo": echo, "toolgate": ours},
    setup=_set_up,
    measure=_measure,
    rounds=1,
    fresh=True,
    targets=(Target(contender="toolgate", case="idle", at_most=100.0, extra="total_mb"),),
    note="Memory that 1,000 idle connections take, each subscribed to a session of its own.",
)
