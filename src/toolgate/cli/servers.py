"""Show the MCP servers that are configured: what each offers, under which name, and why a tool is not visible.

`approve` approves what a server says about its tools now, so that calls need not ask about that.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.cli.guard import UsageError
from toolgate.cli.parser import add_json, add_root
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import visible

if TYPE_CHECKING:
    from toolgate.adapters.mcp_client import Listed, Servers
    from toolgate.adapters.mcp_client.connection import Link

_PATIENCE = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_root(parser)
    add_json(parser, "what was found")
    verbs = parser.add_subparsers(dest="verb", metavar="approve")
    approve = verbs.add_parser("approve", help="approve what a server says about its tools now")
    approve.add_argument("server", metavar="SERVER", help="the server's name in the config")
    approve.add_argument("tools", metavar="TOOL", nargs="*", help="only these of its tools, by their own names")
    approve.add_argument("--yes", action="store_true", help="do not ask; what is approved is printed all the same")


def run(args: argparse.Namespace) -> int:
    """Connect, look, leave."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    import toolgate
    from toolgate.adapters.mcp_client import connect_configured
    from toolgate.settings import Settings

    settings = Settings()
    root = str(Path(args.root or settings.workspace.root).absolute())
    async with connect_configured(toolgate.ToolRegistry(), settings, root, patience=_PATIENCE) as servers:
        if args.verb == "approve":
            return _approve(servers, args)
        if args.json:
            sys.stdout.write(json.dumps(_document(servers), ensure_ascii=False, indent=2) + "\n")
        else:
            _print(servers, settings.mcp_config)
    return 0


def _approve(servers: "Servers", args: argparse.Namespace) -> int:
    link = next((link for link in servers.links if link.config.name == args.server), None)
    if link is None:
        known = ", ".join(link.config.name for link in servers.links) or "none"
        raise UsageError(f"there is no server {args.server!r} that can be used; there are: {known}")
    if link.trouble:
        raise UsageError(f"the server {args.server!r} is down: {link.trouble}")
    if unknown := [tool for tool in args.tools if tool not in link.offers]:
        raise UsageError(f"{args.server!r} offers no tool {unknown[0]!r}; it offers: {', '.join(link.offers)}")
    waiting = [item for item in servers.listed(link) if item.name and item.state != "approved"]
    for item in waiting:
        if args.tools and item.tool not in args.tools:
            continue
        sys.stdout.write(
            f"{visible(item.tool, keep='')} ({item.state})\n{link.offers[item.tool].shown}\n{item.digest}\n"
        )
        if args.yes or _agrees():
            servers.approve(link, item.tool)
            sys.stdout.write("approved\n\n")
        else:
            sys.stdout.write("not approved\n\n")
    if not waiting:
        sys.stdout.write("nothing to approve\n")
    return 0


def _agrees() -> bool:
    """Only `y` is yes; where there is nobody to ask, nobody agrees."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write("approve this definition? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() == "y"


def _document(servers: "Servers") -> list[dict[str, object]]:
    up: list[dict[str, object]] = [
        {
            "server": link.config.name,
            "trouble": link.trouble,
            "tools": [
                {"tool": item.tool, "name": item.name, "modes": list(item.modes), "read_only": item.read_only}
                | {"state": item.state, "digest": item.digest, "reason": item.reason}
                for item in servers.listed(link)
            ],
        }
        for link in servers.links
    ]
    return up + [{"server": name, "trouble": reason, "tools": []} for name, reason in servers.refused.items()]


def _print(servers: "Servers", config: Path | None) -> None:
    paint = Style(sys.stdout)
    if not servers.links and not servers.refused:
        sys.stdout.write(f"no servers are configured in {config}\n")
    for link in servers.links:
        _print_server(paint, link, servers.listed(link))
    for name, reason in servers.refused.items():
        sys.stdout.write(f"{paint(visible(name, keep=''), 'bold')}  {paint('not used', 'red')}: {visible(reason)}\n")


def _print_server(paint: Style, link: "Link", listed: "list[Listed]") -> None:
    state = f"{paint('down', 'red')}: {visible(link.trouble)}" if link.trouble else paint("up", "green")
    sys.stdout.write(f"{paint(visible(link.config.name, keep=''), 'bold')}  {state}\n")
    if link.trouble and link.complaints:
        sys.stdout.write(f"  it says: {visible(link.complaints.splitlines()[-1])}\n")
    rows = [["TOOL", "NAME", "MODES", "ASKS", "DEFINITION"]] if listed else []
    for item in sorted(listed, key=lambda item: (not item.name, item.tool)):
        tool = visible(item.tool, keep="")[:80]
        if item.name:
            modes = ",".join(item.modes) or "-"
            rows.append([tool, item.name, modes, "-" if item.read_only else "yes", item.reason or item.state])
        else:
            rows.append([tool, "-", "-", "-", f"not visible: {visible(item.reason)}"])
    for row in columns(rows) if rows else []:
        sys.stdout.write("  " + "  ".join(row).rstrip() + "\n")
