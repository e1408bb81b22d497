"""Talk to the agent at the terminal; or, with --print, let it answer one message and exit.

Without a terminal, every line of stdin is a message. Exit code: 0; 1 if the last turn failed; 130 after Ctrl-C with
--print. The mode, the policy and you decide what a call may do. With --print nobody can be asked, and calls that need
approval are denied.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.parser import add_model, add_root, add_tools
from toolgate.cli.stdin import piped_text, read_stdin
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.settings import Settings

LATEST = ""
"""The value of `--resume` without an id."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--coding", action="store_true", help=translate("new sessions may use files and commands (coding mode)")
    )
    parser.add_argument(
        "--approval-mode",
        choices=("ask", "accept_edits", "plan"),
        help=translate(
            "what to ask you about: ask (everything that needs approval; the default), accept_edits "
            "(not about edits that undo can take back), plan (nothing is changed; the agent proposes a plan)"
        ),
    )
    add_model(parser)
    add_tools(parser)
    add_root(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--resume",
        nargs="?",
        const=LATEST,
        metavar="ID",
        help=translate("continue a session; without an id, choose one"),
    )
    which.add_argument(
        "--continue", dest="latest", action="store_true", help=translate("continue this project's last session")
    )
    parser.add_argument(
        "-p",
        "--print",
        nargs="?",
        const="-",
        metavar="MESSAGE",
        help=translate("answer this, and what is piped to it, and exit"),
    )
    parser.add_argument(
        "--json", action="store_true", help=translate("with --print: print every event as JSON, one per line")
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help=translate("with --print: allow calls that the sandbox or the project confines"),
    )


def run(args: argparse.Namespace) -> int:
    """Run one of: one answer, the chat at a terminal, or the chat through a pipe."""
    if args.print is not None:
        _speed_up_start()
        from toolgate.cli.chat.print_mode import answer

        return answer(args, _message(args.print))
    if args.json or args.yes:
        raise UsageError(translate("{value} goes with --print MESSAGE", value="--json" if args.json else "--yes"))
    if is_terminal():
        from toolgate.cli.chat.terminal import converse
    else:
        from toolgate.cli.chat.plain import converse
    return converse(args)


def _speed_up_start() -> None:
    """Skip work that the start does not need."""
    gc.disable()  # nothing allocated before the first event is garbage, and collection takes time
    # Without this, pydantic reads a file of every installed package to find plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def is_terminal() -> bool:
    """Whether there is a terminal with cursor control, and the packages for it are installed."""
    import importlib.util

    capable = os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    packages = all(map(importlib.util.find_spec, ("rich", "prompt_toolkit")))
    return sys.stdin.isatty() and sys.stdout.isatty() and capable and packages


def settings_for(args: argparse.Namespace) -> Settings:
    """Return the settings with the command line's options and the completed model."""
    from toolgate.compose import settings_with_model
    from toolgate.settings import Settings

    settings = Settings()
    changes: dict[str, object] = {}
    if args.root is not None:
        changes["workspace"] = settings.workspace.model_copy(update={"root": args.root})
    if args.coding:
        changes["session"] = settings.session.model_copy(update={"coding_enabled": True})
    return settings_with_model(settings.model_copy(update=changes), args.model)


def _with_piped(message: str) -> str:
    """Return the message, followed by what was piped to it: `cat log | toolgate chat --print explain`."""
    piped = piped_text()
    return f"{message}\n\n{piped}" if piped.strip() else message


def _message(given: str) -> str:
    text = read_stdin() if given == "-" else _with_piped(given)
    if not text.strip():
        raise UsageError(translate('the message is empty: toolgate chat --print "MESSAGE", or pipe it'))
    return text
