"""Show the configured MCP servers: their tools, the names of the tools in Toolgate, and why a tool is not visible.

`approve` approves the current definitions of a server's tools, so that calls do not ask about them.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import add_json, add_root
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import for_terminal, visible
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.adapters.mcp_client import Servers, ToolStatus
    from toolgate.adapters.mcp_client.connection import ServerConnection

_CONNECT_TIMEOUT = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_root(parser)
    add_json(parser, translate("what was found"))
    verbs = parser.add_subparsers(dest="verb", metavar="approve")
    approve = verbs.add_parser("approve", help=translate("approve the current definitions of a server's tools"))
    approve.add_argument("server", metavar="SERVER", help=translate("the server's name in the config"))
    approve.add_argument("tools", metavar="TOOL", nargs="*", help=translate("only these tools, by the server's names"))
    approve.add_argument(
        "--yes", action="store_true", help=translate("approve without asking; the definitions are still printed")
    )


def run(args: argparse.Namespace) -> int:
    """Connect to the servers, show or approve their tools, and disconnect."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    import toolgate
    from toolgate.adapters.mcp_client import connect_configured
    from toolgate.settings import Settings

    settings = Settings()
    root = str(Path(args.root or settings.workspace.root).absolute())
    async with connect_configured(toolgate.ToolRegistry(), settings, root, start_timeout=_CONNECT_TIMEOUT) as servers:
        if args.verb == "approve":
            return _approve(servers, args)
        if args.json:
            sys.stdout.write(for_terminal(json.dumps(_document(servers), ensure_ascii=False, indent=2)) + "\n")
        else:
            _print(servers, settings.mcp_config)
    return 0


def _connection(servers: "Servers", args: argparse.Namespace) -> "ServerConnection":
    """Return the server whose tools are approved. Raises `UsageError` if it is down or lacks one of them."""
    connection = next((connection for connection in servers.connections if connection.config.name == args.server), None)
    if connection is None:
        known = ", ".join(connection.config.name for connection in servers.connections) or "none"
        raise UsageError(
            translate(
                "there is no usable server {server}; the servers are: {known}", server=repr(args.server), known=known
            )
        )
    if connection.problem:
        raise UsageError(
            translate("the server {server} is down: {problem}", server=repr(args.server), problem=connection.problem)
        )
    if unknown := [tool for tool in args.tools if tool not in connection.tools]:
        raise UsageError(
            translate(
                "{server} has no tool {unknown}; its tools are: {tools}",
                server=repr(args.server),
                unknown=repr(unknown[0]),
                tools=", ".join(connection.tools),
            )
        )
    return connection


def _approve(servers: "Servers", args: argparse.Namespace) -> int:
    connection = _connection(servers, args)
    waiting = [item for item in servers.listed(connection) if item.name and item.state != "approved"]
    for item in waiting:
        if args.tools and item.tool not in args.tools:
            continue
        sys.stdout.write(
            f"{visible(item.tool, keep='')} ({item.state})\n{connection.tools[item.tool].readable}\n{item.digest}\n"
        )
        if args.yes or _confirm():
            servers.approve(connection, item.tool)
            sys.stdout.write(translate("approved") + "\n\n")
        else:
            sys.stdout.write(translate("not approved") + "\n\n")
    if not waiting:
        sys.stdout.write(translate("nothing to approve") + "\n")
    return 0


def _confirm() -> bool:
    """Ask; only `y` is yes. Without a terminal the answer is no."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write(translate("approve this definition? [y/N]") + " ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() == "y"


def _document(servers: "Servers") -> list[dict[str, object]]:
    up: list[dict[str, object]] = [
        {
            "server": connection.config.name,
            "trouble": connection.problem,
            "tools": [
                {"tool": item.tool, "name": item.name, "modes": list(item.modes), "read_only": item.read_only}
                | {"state": item.state, "digest": item.digest, "reason": item.reason}
                for item in servers.listed(connection)
            ],
        }
        for connection in servers.connections
    ]
    return up + [{"server": name, "trouble": reason, "tools": []} for name, reason in servers.refused.items()]


def _print(servers: "Servers", config: Path | None) -> None:
    paint = Style(sys.stdout)
    if not servers.connections and not servers.refused:
        sys.stdout.write(translate("no servers are configured in {config}", config=config) + "\n")
        sys.stdout.write(translate("See docs/mcp-client.md for what to write there.") + "\n")
    for connection in servers.connections:
        _print_server(paint, connection, servers.listed(connection))
    for name, reason in servers.refused.items():
        unused = paint(translate("not used"), "red")
        sys.stdout.write(f"{paint(visible(name, keep=''), 'bold')}  {unused}: {visible(reason)}\n")


def _print_server(paint: Style, connection: "ServerConnection", listed: "list[ToolStatus]") -> None:
    state = paint(translate("up"), "green")
    if connection.problem:
        state = f"{paint(translate('down'), 'red')}: {visible(connection.problem)}"
    sys.stdout.write(f"{paint(visible(connection.config.name, keep=''), 'bold')}  {state}\n")
    if connection.problem and connection.server_message:
        last = visible(connection.server_message.splitlines()[-1])
        sys.stdout.write("  " + translate("it says: {last}", last=last) + "\n")
    rows = [["TOOL", "NAME", "MODES", "ASKS", "DEFINITION"]] if listed else []
    for item in sorted(listed, key=lambda item: (not item.name, item.tool)):
        tool = visible(item.tool, keep="")[:80]
        if item.name:
            modes = ",".join(item.modes) or "-"
            rows.append([tool, item.name, modes, "-" if item.read_only else "yes", item.reason or item.state])
        else:
            rows.append([tool, "-", "-", "-", translate("not visible: {reason}", reason=visible(item.reason))])
    for row in columns(rows) if rows else []:
        sys.stdout.write("  " + "  ".join(row).rstrip() + "\n")
