"""Show the state of workers and queues.

Exit code 1 if something needs attention (it is shown first, with advice), 2 if the database is unavailable.
"""

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from toolgate.cli.parser import add_json
from toolgate.cli.style import Style
from toolgate.cli.visible import for_terminal, visible
from toolgate.extras import require_extra
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.distributed.status import ClusterStatus


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_json(parser, translate("everything"))


def run(args: argparse.Namespace) -> int:
    """Read the status once; return 1 if something needs attention."""
    require_extra("postgres")
    from toolgate.gateway.status_text import as_text

    status = asyncio.run(_read_status())
    if args.json:
        sys.stdout.write(f"{for_terminal(status.model_dump_json(indent=2))}\n")
        return 1 if status.problems else 0
    paint = Style(sys.stdout)
    first, *lines = visible(as_text(status), keep="\n").splitlines()
    sys.stdout.write(f"{paint(first, 'bold', 'red' if status.problems else 'green')}\n")
    for line in lines:
        sys.stdout.write(f"{paint(line, 'red') if line.startswith('! ') else line}\n")
    return 1 if status.problems else 0


async def _read_status() -> "ClusterStatus":
    from toolgate.distributed.queue import address
    from toolgate.distributed.status import read_status
    from toolgate.sessions import Database
    from toolgate.settings import Settings

    settings = Settings()
    address(settings.database.address)
    database = Database(settings.database.address)
    try:
        return await database.read(lambda tx: read_status(tx, lease=settings.distributed.lease_seconds))
    finally:
        await database.close()
