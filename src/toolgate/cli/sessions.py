"""Look at conversations: list them, show one as it went, or export everything that is known about one.

ID is a session's id or the beginning of one. What a crash has left is put in order first: a turn that nobody runs any
more shows as interrupted, and a call that had started as uncertain.
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
from toolgate.cli.sessions_find import find

if TYPE_CHECKING:
    from toolgate.sessions import SessionManager


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    verbs = parser.add_subparsers(dest="verb", metavar="list | show | export", required=True)
    listing = verbs.add_parser("list", help="the latest sessions, the newest first", description="List sessions.")
    listing.add_argument("--limit", type=int, default=20, metavar="N", help="how many at the most (default: 20)")
    listing.add_argument("--project", metavar="DIR", help="only those of this project")
    listing.add_argument("--all", action="store_true", help="those of sub-agents, too")
    add_json(listing, "them")
    show = verbs.add_parser("show", help="one session, as it went", description="Show a session.")
    show.add_argument("session", metavar="ID")
    show.add_argument("--full", action="store_true", help="all of every output")
    export = verbs.add_parser("export", help="everything about one session", description="Export a session to stdout.")
    export.add_argument("session", metavar="ID")
    export.add_argument(
        "--format", choices=("json", "markdown"), default="json", help="json (complete, the default) or markdown"
    )


def run(args: argparse.Namespace) -> int:
    """List, show or export."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    async with _opened() as sessions:
        if args.verb == "list":
            from toolgate.cli.sessions_list import listed

            await listed(sessions, args)
            return 0
        from toolgate.cli.sessions_story import story_of

        story = await story_of(sessions, await find(sessions, args.session))
        if args.verb == "export" and args.format == "json":
            sys.stdout.write(json.dumps(story.document(), ensure_ascii=False, indent=2) + "\n")
        elif args.verb == "export":
            from toolgate.cli.sessions_markdown import as_markdown

            sys.stdout.write(as_markdown(story))
        else:
            from toolgate.cli.sessions_show import show

            show(story, sys.stdout, full=args.full)
        return 0


@contextlib.asynccontextmanager
async def _opened() -> AsyncIterator[SessionManager]:
    """The user's sessions, with the modes that they were made in: nothing runs here that a mode could allow."""
    from toolgate.sessions import Database, SessionManager
    from toolgate.settings import Settings

    settings = Settings()
    database = Database(settings.database.address)
    try:
        await database.migrate()
        yield SessionManager(database, settings.session.model_copy(update={"coding_enabled": True}))
    finally:
        await database.close()
