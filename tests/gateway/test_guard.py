"""Origins, hosts and addresses: who may ask at all."""

import asyncio
import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.gateway.kit import (
    BEARER,
    PATIENCE,
    TOKEN,
    Gateway,
    gateway,
    serving,
    settings_for,
)


async def raw(port: int, head: str, *, body: bytes = b"") -> tuple[int, str]:
    """Send these very bytes and return the status and everything that comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode("latin-1") + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read(65_536)
    writer.close()
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer.decode("latin-1")


async def upgrade(running: Gateway, path: str = "/ws", **headers: str | list[str]) -> int:
    """The status of a WebSocket handshake with exactly these headers."""
    given: dict[str, Any] = {
        "Host": running.address,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET {path} HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    lines.append(f"Sec-WebSocket-Key: {key}")
    for name, value in given.items():
        lines += [f"{name}: {one}" for one in ([value] if isinstance(value, str) else value)]
    return (await raw(running.port, "\n".join(lines) + "\n\n"))[0]


async def get(running: Gateway, path: str, **headers: str) -> tuple[int, str]:
    given = {"Host": running.address, "Connection": "close", **headers}
    head = "\n".join([f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())])
    return await raw(running.port, head + "\n\n")


async def test_g02_other_origins_are_refused(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path)) as running:
        port = running.port
        protocol = f"toolgate.bearer.{_page_key(running)}"
        evil = [
            "http://evil.com",
            "null",
            "",
            f"http://evil.com:{port}",
            f"http://127.0.0.1:{port + 1}",
            "http://127.0.0.1",
        ]
        evil += [f"http://127.0.0.1:{port}.evil.com", f"http://127.0.0.1:{port}@evil.com", f"https://127.0.0.1:{port}"]
        evil += [f"http://127.0.0.1.evil.com:{port}", f"http://localhost:{port}/", "file://", f"http://[::1]:{port}0"]
        for origin in evil:
            assert await upgrade(running, Origin=origin, **BEARER) == 403, origin
            assert await upgrade(running, Origin=origin, Sec_WebSocket_Protocol=protocol) == 403, origin
            assert (await get(running, "/health/live", Origin=origin))[0] == 403, origin
        twice = [f"http://127.0.0.1:{port}", "http://evil.com"]
        assert await upgrade(running, Origin=twice, Sec_WebSocket_Protocol=protocol) in (400, 403)
        for origin in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", f"http://[::1]:{port}"):
            assert await upgrade(running, Origin=origin, Sec_WebSocket_Protocol=protocol) == 101
        assert await upgrade(running, **BEARER) == 101


def _page_key(running: Gateway) -> str:
    access = running.app.state.access
    text: str = access.page_key(access.by_token(TOKEN)).text
    return text


async def test_g03_other_hosts_are_refused(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path, allowed_hosts=("gate.example",))) as running:
        port = running.port
        evil = [f"evil.com:{port}", "evil.com", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}.evil.com", ""]
        evil += [
            f"localhost.evil.com:{port}",
            f"127.0.0.2:{port}",
            f"0.0.0.0:{port}",
            f"127.0.0.1:0{port}0",
            f"localhost.:{port}",
        ]
        for host in evil:
            assert await upgrade(running, Host=host, **BEARER) in (403, 421, 400), host
            assert (await get(running, "/", Host=host))[0] in (403, 421, 400), host
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "gate.example"):
            assert await upgrade(running, Host=host, **BEARER) == 101, host
        assert await upgrade(running, Host="gate.example", Origin="https://gate.example", **BEARER) == 101


def test_g04_another_address_needs_encryption_or_a_clear_word(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TOOLGATE_WORKSPACE_ROOT": str(tmp_path)}
    for host in ("0.0.0.0", "::"):
        command = [sys.executable, "-m", "toolgate", "serve", "--host", host, "--port", "0"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert "--tls-cert" in done.stderr
        assert "Traceback" not in done.stderr
    with serving(tmp_path) as (process, port, address):
        assert address.startswith("http://127.0.0.1:")
        assert _listening(process.pid) == {("0100007F", port)}
    with serving(tmp_path, "--host", "0.0.0.0", "--insecure-http") as (process, port, _):
        assert _listening(process.pid) == {("00000000", port)}


def _listening(pid: int) -> set[tuple[str, int]]:
    """Where a process listens, as the kernel has it."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                host, port = fields[1].split(":")
                found.add((host, int(port, 16)))
    return found
