"""Show how workers and queues stand."""

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from toolgate.cli.parser import add_json

if TYPE_CHECKING:
    from toolgate.distributed.status import Status


def configure(parser: argparse.ArgumentParser) -> None:
    """How it is shown."""
    add_json(parser, "everything")


def run(args: argparse.Namespace) -> int:
    """Look once; 1 if there is something that somebody should look at."""
    from toolgate.distributed.showing import as_text

    status = asyncio.run(_look())
    sys.stdout.write(f"{status.model_dump_json(indent=2)}\n" if args.json else as_text(status))
    return 1 if status.problems else 0


async def _look() -> "Status":
    from toolgate.distributed.engine import address
    from toolgate.distributed.status import look
    from toolgate.sessions import Database
    from toolgate.settings import Settings

    settings = Settings()
    address(settings.database.address)
    database = Database(settings.database.address)
    try:
        return await database.read(lambda tx: look(tx, lease=settings.distributed.lease_seconds))
    finally:
        await database.close()
