"""Run the agent for an editor that speaks ACP, the Agent Client Protocol (Zed, JetBrains, Neovim), on stdin and stdout.

The editor names the project and shows messages, tool calls, diffs and approvals. --coding on this command line is the
operator's switch for files and commands; no editor can change it.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import add_model, add_tools, own_tools
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.compose import Stack
    from toolgate.protocol.ports import Approver


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--coding", action="store_true", help=translate("sessions may use files and commands (coding mode)")
    )
    add_model(parser)
    add_tools(parser)
    parser.add_argument(
        "--root", type=Path, metavar="DIR", help=translate("allow only this project and directories below it")
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the editor disconnects or a signal arrives."""
    try:
        asyncio.run(_serve(args))
    except asyncio.CancelledError:
        return 0  # SIGTERM: running turns have ended
    return 0


def _may_lead_to_an_editor(descriptor: int) -> bool:
    """Whether an editor can be at the other end: not of a file, nor of /dev/null, which cannot be waited for."""
    kind = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or os.isatty(descriptor)


async def _serve(args: argparse.Namespace) -> None:
    from toolgate.adapters.acp.agent import EditorAgent
    from toolgate.adapters.acp.stdio import serve_stdio
    from toolgate.adapters.private_stdio import private_stdio
    from toolgate.cli.chat.command import settings_for
    from toolgate.protocol.modes import ToolMode
    from toolgate.runtime.policy_source import check_users_policy

    if not all(map(_may_lead_to_an_editor, (0, 1))):
        raise UsageError(
            translate("stdin and stdout must be pipes: an editor starts this command and talks to it through them")
        )
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    if sys.stdin.isatty():
        waiting = translate("Waiting for an editor on stdin. Editors start this command; Ctrl-D ends it.")
        sys.stderr.write(f"{waiting}\n")
    mode = ToolMode.coding if args.coding else ToolMode.chat_safe
    tools = own_tools(args)
    check_users_policy(settings_for(args).policy_file)  # now, not when the editor opens a project
    limit = args.root.resolve() if args.root is not None else None

    @contextlib.asynccontextmanager
    async def open_project(root: Path, approver: "Approver") -> AsyncIterator["Stack"]:
        from toolgate.compose import assemble
        from toolgate.errors import ToolgateError

        if limit is not None and not root.is_relative_to(limit):
            raise ToolgateError(f"{root} is not inside {limit}, which this agent was started for (--root)")
        given = argparse.Namespace(root=root, coding=args.coding, model=args.model)
        async with assemble(settings_for(given), tools=tools, approver=approver, live_output=True) as stack:
            yield stack

    with private_stdio() as (stdin, stdout):
        async with EditorAgent(open_project, mode) as agent:
            await serve_stdio(agent, stdin=stdin, stdout=stdout)
