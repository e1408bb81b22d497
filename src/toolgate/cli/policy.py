"""Explain what would be decided about a call, by which gate and which rule. Nothing runs and nobody is asked.

ARGS are the call's arguments in any form that the chat takes: JSON, key=value pairs, or a command for Bash.
"""

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING

from toolgate.cli.call import arguments_of
from toolgate.cli.parser import add_json, add_mode, add_root
from toolgate.cli.style import Style, columns
from toolgate.cli.visible import for_terminal, visible
from toolgate.language.translate import reason, translate

if TYPE_CHECKING:
    from toolgate.protocol.record import Decision
    from toolgate.sessions import SessionPermissions
    from toolgate.settings import Settings

_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    verbs = parser.add_subparsers(dest="verb", metavar="explain", required=True)
    explain = verbs.add_parser(
        "explain", help=translate("which rule decides about a call, and why"), description=__doc__
    )
    explain.add_argument("tool", metavar="TOOL", help=translate("the tool that would be called"))
    explain.add_argument(
        "arguments",
        metavar="ARGS",
        nargs="*",
        default=[],
        help=translate("its arguments: JSON, key=value pairs, or the text of its main one"),
    )
    add_mode(explain, default="coding")
    explain.add_argument(
        "--approval-mode",
        choices=("ask", "accept_edits", "plan"),
        help=translate("what a person wants to be asked about"),
    )
    explain.add_argument(
        "--session", metavar="ID", help=translate("with what was remembered in this session, and in its approval mode")
    )
    add_root(explain)
    add_json(explain, translate("the decision"))


def run(args: argparse.Namespace) -> int:
    """Run the pipeline up to and including the policy, and show the decision."""
    arguments = arguments_of(args.tool, args.arguments)
    decision = asyncio.run(_explain(args, arguments))
    if args.json:
        sys.stdout.write(for_terminal(json.dumps(decision.model_dump(), ensure_ascii=False)) + "\n")
        return 0
    show(decision)
    return 0


def show(decision: "Decision") -> None:
    """Print the decision for a person."""
    paint = Style(sys.stdout)
    rows = columns(
        [
            [translate("gate"), decision.gate],
            [translate("rule"), decision.rule or translate("none")],
            [translate("reason"), reason(decision.reason)],
        ]
    )
    sys.stdout.write(paint(decision.decision, "bold", _COLOURS[decision.decision]) + "\n")
    for label, value in rows:
        sys.stdout.write(f"  {paint(label, 'dim')}  {visible(value)}\n")


async def _explain(args: argparse.Namespace, arguments: str) -> "Decision":
    import toolgate
    from toolgate.settings import Settings

    settings = Settings()
    call = toolgate.ToolCall(id="explain", name=args.tool, arguments=arguments)
    found = None if args.session is None else await _permissions(settings, args.session)
    async with toolgate.open(
        args.root or settings.workspace.root,
        mode=toolgate.ToolMode(args.mode),
        approver=None,
        settings=settings,
        approval_mode=args.approval_mode or "ask",
    ) as toolset:
        if found is not None:
            from toolgate.agent.permissions import apply

            apply(toolset.context, found)
            if args.approval_mode is not None:
                toolset.context.approval_mode = toolgate.ApprovalMode(args.approval_mode)
        return await toolset.explain(call)


async def _permissions(settings: "Settings", typed: str) -> "SessionPermissions":
    """What a session may do without asking."""
    from toolgate.cli.sessions.find import find
    from toolgate.sessions import Database, SessionManager

    database = Database(settings.database.address)
    try:
        await database.migrate()
        sessions = SessionManager(database, settings.session)
        return await sessions.permissions((await find(sessions, typed)).id)
    finally:
        await database.close()
