"""How often the database is used for one edit over the gateway that a person approves: a count, not a time."""

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, Sample, Target


def _count(counts: Counter[str]) -> None:
    """Count the transactions of the SQLite driver, and switch off what runs on a timer."""
    from toolgate.agent import assembly
    from toolgate.gateway.service import Service
    from toolgate.sessions.sqlite import SqliteFile

    read, write = SqliteFile.read, SqliteFile.write

    def counted_read(driver: SqliteFile, unit: Any) -> Awaitable[Any]:
        counts["reads"] += 1
        return read(driver, unit)

    def counted_write(driver: SqliteFile, unit: Any) -> Awaitable[Any]:
        counts["writes"] += 1
        return write(driver, unit)

    async def no_watch(_: Service) -> None:
        await asyncio.Event().wait()

    replaced = {"read": counted_read, "write": counted_write, "polls": None}
    for name, value in replaced.items():
        setattr(SqliteFile, name, value)
    setattr(Service, "watch", no_watch)  # noqa: B010 mypy refuses to assign to a method
    vars(assembly)["_LOOK"] = 3600.0


async def measure(counts: Counter[str], case: str) -> Sample:
    """One approved `Bash("edit …")` in a fresh gateway."""
    from tests.gateway.kit import call, gateway, is_done, is_type, settings_for
    from toolgate.testing import ScriptedModel

    edit = call("Bash", json.dumps({"command": "edit app.py old new"}))
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(Path(folder))
        file = Path(folder, "root/app.py")
        file.write_text("name = 'old'\n")
        async with gateway(settings, ScriptedModel([[edit], "Done."])) as running, running.client() as client:
            session = await client.session("coding")
            counts.clear()
            await client.send("chat.send", session_id=session, content="Edit it.")
            request = (await client.until(is_type("approval_request")))[-1]["data"]
            await client.send("approval.respond", id=request["id"], allowed=True)
            await client.until(is_done)
        assert file.read_text() == "name = 'new'\n"
    return Sample(value=counts[case], extra={"transactions": counts[case]})


async def setup(counts: Counter[str]) -> Counter[str]:
    """The counter, with the driver patched in this process."""
    _count(counts)
    return counts


DATABASE = Bench(
    name="database",
    unit="transactions",
    cases=["reads", "writes"],
    floor="toolgate",
    contenders={"toolgate": Counter()},
    setup=setup,
    measure=measure,
    rounds=1,
    targets=[
        Target(contender="toolgate", case="reads", at_most=12, extra="transactions"),
        Target(contender="toolgate", case="writes", at_most=8, extra="transactions"),
    ],
    note="One edit over the gateway that a person approves.",
)
