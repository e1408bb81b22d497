"""Serve the tools to an agent that speaks MCP: on stdin and stdout, or with --http over streamable HTTP.

The agent sees the tools of one mode and nothing else. --mode coding on this command line is the operator's switch: no
agent can turn it. Over HTTP a token is always needed: TOOLGATE_GATEWAY_TOKEN, else one is made up and printed.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from toolgate.cli.guard import UsageError
from toolgate.cli.parser import add_mode, add_root

if TYPE_CHECKING:
    from toolgate.adapters.mcp_server import Desk
    from toolgate.adapters.mcp_server.storage import Keeping
    from toolgate.protocol.modes import ToolMode
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.settings import Settings
    from toolgate.tools.context import ToolContext
    from toolgate.workspace import Workspace

PORT = 8766


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_mode(parser, default="chat_safe")
    add_root(parser)
    parser.add_argument("--tools", metavar="A,B", help="only these tools of the mode")
    parser.add_argument("--record", action="store_true", help="keep a record of all calls in the sessions' database")
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp instead of stdin and stdout")
    parser.add_argument("--host", help="with --http: address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help=f"with --http: port to listen on; 0: a free one (default: {PORT})")


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes away, or until told to stop."""
    if not args.http and (args.host is not None or args.port is not None):
        raise UsageError("--host and --port belong to --http: add it, or leave them out")
    try:
        asyncio.run(_serve(args))
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("toolgate", ""):
            raise
        raise UsageError(f"{package} is not installed: pip install 'toolgate[mcp]'") from None
    except asyncio.CancelledError:
        return 0  # SIGTERM: what ran has been ended
    return 0


async def _serve(args: argparse.Namespace) -> None:
    from toolgate.settings import Settings

    settings = Settings()
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    if args.http:
        from toolgate.cli.mcp_http import serve_http, settings_with_token

        settings = settings_with_token(settings)
        async with _desk(args, settings) as desk:
            await serve_http(
                desk, settings, host=args.host or "127.0.0.1", port=PORT if args.port is None else args.port
            )
        return
    from toolgate.adapters.mcp_server.stdio import claimed_stdio, serve_stdio

    async with _desk(args, settings) as desk:
        if sys.stdin.isatty():
            sys.stderr.write("Waiting for an MCP client on stdin: this is for agents to start. Ctrl-D ends it.\n")
        with claimed_stdio() as (stdin, stdout):
            await serve_stdio(desk, stdin=stdin, stdout=stdout)


@contextlib.asynccontextmanager
async def _desk(args: argparse.Namespace, settings: "Settings") -> AsyncIterator["Desk"]:
    """The tools of the mode on the project, and what a client of them is given."""
    from toolgate.adapters.mcp_server.clients import Desk
    from toolgate.adapters.mcp_server.storage import Keeping
    from toolgate.protocol.modes import ToolMode
    from toolgate.workspace import Workspace

    mode = ToolMode(args.mode)
    workspace = Workspace(args.root or settings.workspace.root)
    keeping = Keeping(settings, mode)
    try:
        clients = _Clients(settings, mode, keeping, record=args.record)
        registry = _chosen(_available(clients.context(workspace)), mode, args.tools)
        desk = Desk(registry, mode, workspace, open_context=clients.context, settings=settings)
        desk.check()
        yield desk
    finally:
        await keeping.close()
        workspace.close()


class _Clients:
    """Makes the context of every client."""

    def __init__(self, settings: "Settings", mode: "ToolMode", keeping: "Keeping", *, record: bool) -> None:
        self._settings = settings
        self._mode = mode
        self._keeping = keeping
        self._record = record

    def context(self, workspace: "Workspace") -> "ToolContext":
        """A context of its own on `workspace`; it costs nothing until it is used."""
        from toolgate.adapters.mcp_server.storage import CallLog, Notes
        from toolgate.protocol.ids import uuid7
        from toolgate.tools.context import ToolContext

        return ToolContext(
            workspace=workspace,
            mode=self._mode,
            session_id=uuid7(),
            settings=self._settings,
            memory=Notes(self._keeping, str(workspace.root)) if _has_database() else None,
            recorder=CallLog(self._keeping, str(workspace.root)) if self._record else None,
        )


def _has_database() -> bool:
    """Whether the packages are there that notes are kept with."""
    import importlib.util

    return importlib.util.find_spec("alembic") is not None


def _available(context: "ToolContext") -> "ToolRegistry":
    from toolgate.compose import available_tools
    from toolgate.runtime.builtin import builtin_registry

    return available_tools(builtin_registry(), context)


def _chosen(registry: "ToolRegistry", mode: "ToolMode", names: str | None) -> "ToolRegistry":
    """What `--tools` leaves; a name that the mode does not have is an error, not an empty list."""
    if names is None:
        return registry
    there = [tool.name for tool in registry.list_declarations(mode)]
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    missing = [name for name in wanted if name not in there]
    if missing or not wanted:
        said = f"no tool {', '.join(map(repr, missing))} in {mode.value} mode" if missing else "--tools names no tool"
        raise UsageError(f"{said}; there are: {', '.join(there)}")
    return registry.filter(wanted)
