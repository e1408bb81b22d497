"""List sessions, show or export one, rename one, or remove old ones.

ID is a session's id or its beginning. After a crash the sessions are repaired first: a turn that no process runs shows
as interrupted, and a call that had started as uncertain.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from toolgate.cli.parser import add_json
from toolgate.cli.sessions.find import find
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.sessions import SessionManager
    from toolgate.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    verbs = parser.add_subparsers(dest="verb", metavar="list | show | export | rename | prune", required=True)
    listing = verbs.add_parser(
        "list", help=translate("list the latest sessions, newest first"), description=translate("List sessions.")
    )
    listing.add_argument("--limit", type=int, default=20, metavar="N", help=translate("maximum number (default: 20)"))
    listing.add_argument("--project", metavar="DIR", help=translate("only sessions of this project"))
    listing.add_argument("--all", action="store_true", help=translate("also sessions of sub-agents"))
    add_json(listing, translate("them"))
    show = verbs.add_parser("show", help=translate("show one session"), description=translate("Show a session."))
    show.add_argument("session", metavar="ID")
    show.add_argument("--full", action="store_true", help=translate("show every output completely"))
    export = verbs.add_parser(
        "export", help=translate("export one session"), description=translate("Export a session to stdout.")
    )
    export.add_argument("session", metavar="ID")
    export.add_argument(
        "--format",
        choices=("json", "markdown"),
        default="json",
        help=translate("json (complete, the default) or markdown"),
    )
    rename = verbs.add_parser(
        "rename", help=translate("give a session another title"), description=translate("Rename a session.")
    )
    rename.add_argument("session", metavar="ID")
    rename.add_argument("title", metavar="TITLE")
    prune = verbs.add_parser(
        "prune", help=translate("remove old sessions"), description=translate("Remove old sessions.")
    )
    prune.add_argument(
        "--older-than", required=True, metavar="AGE", help=translate("not used for this long: 90d, 12w, 1y")
    )
    prune.add_argument("--project", metavar="DIR", help=translate("only sessions of this project"))
    how = prune.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help=translate("only show what would be removed (the default)"))
    how.add_argument("--yes", action="store_true", help=translate("remove them permanently"))


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    from toolgate.settings import Settings

    settings = Settings()
    if args.verb == "list":
        await asyncio.to_thread(_warn_damage, settings.database.address)
    async with _open_sessions(settings) as sessions:
        if args.verb == "list":
            from toolgate.cli.sessions.listing import print_sessions

            await print_sessions(sessions, args)
        elif args.verb == "prune":
            from toolgate.cli.sessions.prune import prune

            await prune(sessions, args)
        elif args.verb == "rename":
            from toolgate.cli.sessions.rename import rename

            await rename(sessions, await find(sessions, args.session), args.title, settings)
        else:
            await _print_session(sessions, args)
    return 0


def _warn_damage(address: str) -> None:
    """Warn on stderr that sessions may be missing if part of the database was lost."""
    from toolgate.cli.visible import visible
    from toolgate.sessions.database import file_of
    from toolgate.sessions.files import known_damage

    path = file_of(address)
    lost = "" if path is None else known_damage(path)
    if lost:
        line = translate("toolgate sessions: something may be missing. SQLite's log of the database: {lost}", lost=lost)
        sys.stderr.write(visible(line, keep="") + "\n")


async def _print_session(sessions: SessionManager, args: argparse.Namespace) -> None:
    """Show or export one session."""
    from toolgate.cli.visible import for_terminal, visible
    from toolgate.sessions.record import read_record

    record = await read_record(sessions, await find(sessions, args.session))
    if args.verb == "show":
        from toolgate.cli.sessions.show import show

        show(record, sys.stdout, full=args.full)
    elif args.format == "json":
        sys.stdout.write(for_terminal(json.dumps(record.document(), ensure_ascii=False, indent=2)) + "\n")
    else:
        from toolgate.sessions.markdown import as_markdown

        text = as_markdown(record)
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


@contextlib.asynccontextmanager
async def _open_sessions(settings: Settings) -> AsyncIterator[SessionManager]:
    """Open the user's sessions in all modes: nothing runs here, so no mode has to be enabled."""
    from toolgate.sessions import Database, SessionManager

    database = Database(settings.database.address)
    try:
        await database.migrate()
        yield SessionManager(database, settings.session.model_copy(update={"coding_enabled": True}))
    finally:
        await database.close()
