"""Serve the tools to an agent that speaks MCP: on stdin and stdout, or with --http over streamable HTTP.

The agent sees only the tools of one mode. --mode coding on this command line is the operator's switch; no agent can
change it. Over HTTP a token is always needed: TOOLGATE_GATEWAY_TOKEN, or one that is created and printed.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import add_mode, add_root, add_tools, own_tools
from toolgate.extras import require_extra
from toolgate.language.translate import translate
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.adapters.mcp_server import Clients
    from toolgate.adapters.mcp_server.storage import Storage
    from toolgate.protocol.modes import ToolMode
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.settings import Settings
    from toolgate.tools.base import Tool
    from toolgate.tools.context import ToolContext
    from toolgate.workspace import Workspace

PORT = 8766
MAX_OUTPUT_BYTES = 38_000
"""Maximum bytes of an output: with the text around it, an answer has less than the 40,000 that clients cut at."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_mode(parser, default="chat_safe")
    add_root(parser)
    add_tools(parser, "; names without a colon (A,B) serve only these tools of the mode")
    parser.add_argument("--record", action="store_true", help=translate("record all calls in the sessions' database"))
    parser.add_argument(
        "--approvals",
        choices=("ask", "client"),
        default="ask",
        help=translate(
            "who approves calls that need it: ask (the user, through a form) or "
            "client (trust a client that asks its own user before every call; rules that deny still hold)"
        ),
    )
    parser.add_argument(
        "--http", action="store_true", help=translate("serve streamable HTTP at /mcp instead of stdin and stdout")
    )
    parser.add_argument("--host", help=translate("with --http: address to listen on (default: 127.0.0.1)"))
    parser.add_argument(
        "--port", type=int, help=translate("with --http: port to listen on; 0: a free one (default: {port})", port=PORT)
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the client disconnects or a signal arrives."""
    if not args.http and (args.host is not None or args.port is not None):
        raise UsageError(translate("--host and --port belong to --http: add it, or leave them out"))
    try:
        asyncio.run(_serve(args))
    except asyncio.CancelledError:
        return 0  # SIGTERM: running calls have ended
    return 0


async def _serve(args: argparse.Namespace) -> None:
    from toolgate.settings import Settings

    require_extra("mcp")
    settings = _short_outputs(Settings())
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    if args.http:
        from toolgate.cli.mcp_http import serve_http, settings_with_token

        settings = settings_with_token(settings)
        async with _open_clients(args, settings) as clients:
            await serve_http(
                clients, settings, host=args.host or "127.0.0.1", port=PORT if args.port is None else args.port
            )
        return
    from toolgate.adapters.mcp_server.stdio import serve_stdio
    from toolgate.adapters.private_stdio import private_stdio

    async with _open_clients(args, settings) as clients:
        if sys.stdin.isatty():
            said = translate("Waiting for an MCP client on stdin. Agents start this command; Ctrl-D ends it.")
            sys.stderr.write(f"{said}\n")
        with private_stdio() as (stdin, stdout):
            await serve_stdio(clients, stdin=stdin, stdout=stdout)


@contextlib.asynccontextmanager
async def _open_clients(args: argparse.Namespace, settings: "Settings") -> AsyncIterator["Clients"]:
    """Create the clients of a server: the tools of the mode, on the project."""
    from toolgate.adapters.mcp_server.clients import Clients
    from toolgate.adapters.mcp_server.storage import Storage
    from toolgate.protocol.modes import ToolMode
    from toolgate.workspace import Workspace

    only, named = _split(args.tools)
    own = own_tools(argparse.Namespace(tools=named))
    mode = ToolMode(args.mode)
    workspace = Workspace(args.root or settings.workspace.root)
    storage = Storage(settings, mode)
    try:
        contexts = _ContextFactory(settings, mode, storage, record=args.record)
        registry = _filter_tools(_available(contexts.context(workspace), own), mode, only)
        trusted = args.approvals == "client"
        clients = Clients(
            registry, mode, workspace, open_context=contexts.context, settings=settings, client_approves=trusted
        )
        clients.check()
        if trusted:
            logger("mcp").warning("approvals_left_to_client", mode=mode.value)
        yield clients
    finally:
        await storage.close()
        workspace.close()


class _ContextFactory:
    """Creates the context of each client."""

    def __init__(self, settings: "Settings", mode: "ToolMode", storage: "Storage", *, record: bool) -> None:
        self._settings = settings
        self._mode = mode
        self._storage = storage
        self._record = record

    def context(self, workspace: "Workspace") -> "ToolContext":
        """Create a context on `workspace`; it uses no resources until it is used."""
        from toolgate.adapters.mcp_server.storage import ClientRecorder, ProjectMemory
        from toolgate.protocol.ids import uuid7
        from toolgate.tools.context import ToolContext
        from toolgate.workspace.skills import Skills

        context = ToolContext(
            workspace=workspace,
            mode=self._mode,
            session_id=uuid7(),
            settings=self._settings,
            memory=ProjectMemory(self._storage, str(workspace.root)),
            recorder=ClientRecorder(self._storage, str(workspace.root)) if self._record else None,
        )
        skills = Skills(workspace, self._settings.user_directory)
        context.skills = skills if skills.all() else None
        return context


def _short_outputs(settings: "Settings") -> "Settings":
    """Limit outputs to what clients pass on completely. Several clients cut the middle out of longer ones silently."""
    limit = min(settings.tool_output.max_bytes, MAX_OUTPUT_BYTES)
    return settings.model_copy(update={"tool_output": settings.tool_output.model_copy(update={"max_bytes": limit})})


def _split(given: list[str]) -> tuple[str | None, list[str]]:
    """Return the names of the tools that are served (None: all), and the `MODULE:ATTRIBUTE` texts of custom ones."""
    names = [text for text in given if ":" not in text]
    return (",".join(names) if names else None), [text for text in given if ":" in text]


def _available(context: "ToolContext", own: "Sequence[Tool[Any]]") -> "ToolRegistry":
    from toolgate.compose import available_tools
    from toolgate.runtime.builtin import agent_registry
    from toolgate.runtime.own_tools import add_tools as add

    registry = agent_registry(context.settings)
    add(registry, own)
    return available_tools(registry, context)


def _filter_tools(registry: "ToolRegistry", mode: "ToolMode", names: str | None) -> "ToolRegistry":
    """Keep the tools that `--tools` names. A name that the mode does not have is an error."""
    if names is None:
        return registry
    there = [tool.name for tool in registry.list_declarations(mode)]
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    missing = [name for name in wanted if name not in there]
    if missing or not wanted:
        problem = translate("--tools names no tool")
        if missing:
            names = ", ".join(map(repr, missing))
            problem = translate("no tool {names} in {mode} mode", names=names, mode=mode.value)
        raise UsageError(translate("{problem}; the tools are: {tools}", problem=problem, tools=", ".join(there)))
    return registry.filter(wanted)
