"""Use the agent's shell: what you type passes the same gates as a model's Bash calls.

Commands from a pipe run one after the other. Exit code: that of the last command (1 if it was refused or cancelled), 0
after an interactive session, 130 after Ctrl-C in a script. Approval is asked for at the terminal; without a terminal it
is denied.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolgate.cli.parser import add_json, add_mode, add_root
from toolgate.cli.sh.calls import PausingApprover, ShellCalls
from toolgate.cli.sh.colon_commands import ColonCommands
from toolgate.cli.sh.line_source import EndOfInput, LineSource, line_source
from toolgate.cli.sh.screen import OutputStreams, banner
from toolgate.cli.terminal_approver import terminal_approver
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.runtime.pending import PendingResult

INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("-c", dest="command", metavar="COMMAND", help=translate("run this one command and exit"))
    parser.add_argument(
        "--access", choices=("read", "write", "full"), default="write", help=translate("what commands may touch")
    )
    add_mode(parser, default="coding")
    add_root(parser)
    add_json(parser, translate("the envelope of every command, one per line,"))


def run(args: argparse.Namespace) -> int:
    """Read, run and show commands until the end of the input."""
    return asyncio.run(_session(args))


async def _session(args: argparse.Namespace) -> int:
    import toolgate
    from toolgate.settings import Settings

    settings = Settings()
    root = Path(args.root or settings.workspace.root).resolve()
    screen = OutputStreams(sys.stdout, sys.stderr, json=args.json)
    approver = terminal_approver()
    watched = PausingApprover(approver, screen) if approver is not None else None
    calls = ShellCalls(screen, watched, args.access)
    mode = toolgate.ToolMode(args.mode)
    async with toolgate.open(
        root, mode=mode, approver=watched, settings=settings, recorder=calls, remembers_for_project=True
    ) as toolset:
        calls.use(toolset)
        source = line_source(args.command, calls, root.name)
        if source.interactive:
            screen.say(banner(root, args.mode, toolset.context))
        return await _loop(source, calls, ColonCommands(calls, screen))


async def _loop(source: LineSource, calls: ShellCalls, commands: ColonCommands) -> int:
    while True:
        try:
            line = await source.next()
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            pending = await commands.run(line) if commands.knows(line) else calls.start(line)
        except EndOfInput:
            return 0 if source.interactive else calls.exit_code
        with _cancelled_by_ctrl_c(pending) as interrupts:
            await calls.finish(pending)
        if interrupts and not source.interactive:
            return INTERRUPTED


@contextlib.contextmanager
def _cancelled_by_ctrl_c(pending: "PendingResult | None") -> Iterator[list[int]]:
    """Let Ctrl-C cancel the running command instead of the program."""
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
