"""Sit in the agent's shell: what you type goes through the same gates as a model's Bash calls.

With commands piped in they run one after the other. Exit code: that of the last command (1 if it was refused or ended
early), 0 after an interactive session, 130 after Ctrl-C in a script. A question is asked at the terminal; without one
the answer is no.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.cli.approve import terminal_approver
from toolgate.cli.parser import add_json, add_mode, add_root
from toolgate.cli.sh.calls import Calls, Watched
from toolgate.cli.sh.colon_commands import ColonCommands
from toolgate.cli.sh.line_source import End, LineSource, line_source
from toolgate.cli.sh.screen import Screen, banner

if TYPE_CHECKING:
    from toolgate.runtime.pending import PendingResult

INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("-c", dest="command", metavar="COMMAND", help="run this one command and leave")
    parser.add_argument("--access", choices=("read", "write", "full"), default="write", help="what commands may touch")
    add_mode(parser, default="coding")
    add_root(parser)
    add_json(parser, "the envelope of every command, one a line,")


def run(args: argparse.Namespace) -> int:
    """Read, run and show until the end."""
    return asyncio.run(_session(args))


async def _session(args: argparse.Namespace) -> int:
    import toolgate
    from toolgate.settings import Settings

    settings = Settings()
    root = Path(args.root or settings.workspace.root).resolve()
    screen = Screen(sys.stdout, sys.stderr, json=args.json)
    approver = terminal_approver()
    watched = Watched(approver, screen) if approver is not None else None
    calls = Calls(screen, watched, args.access)
    mode = toolgate.ToolMode(args.mode)
    async with toolgate.open(root, mode=mode, approver=watched, settings=settings, recorder=calls) as toolset:
        calls.use(toolset)
        source = line_source(args.command, calls, root.name)
        if source.interactive:
            screen.say(banner(root, args.mode, toolset.context))
        return await _loop(source, calls, ColonCommands(calls, screen))


async def _loop(source: LineSource, calls: Calls, commands: ColonCommands) -> int:
    while True:
        try:
            line = await source.next()
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            pending = await commands.run(line) if commands.knows(line) else calls.start(line)
        except End:
            return 0 if source.interactive else calls.exit_code
        with _cancelled_by_ctrl_c(pending) as interrupts:
            await calls.finish(pending)
        if interrupts and not source.interactive:
            return INTERRUPTED


@contextlib.contextmanager
def _cancelled_by_ctrl_c(pending: "PendingResult | None") -> Iterator[list[int]]:
    """While a command runs, Ctrl-C takes it back and not the program."""
    interrupts: list[int] = []
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        interrupts.append(1)
        if pending is not None:
            pending.cancel()

    previous = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield interrupts
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, previous)
