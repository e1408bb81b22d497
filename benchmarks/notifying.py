"""How much a commit that notifies costs beside a plain one: `python -m benchmarks.notifying postgresql://…/scratch`.

PostgreSQL lets transactions that notify commit one after the other. Several connections commit small rows side by side,
with and without `pg_notify`, in turns within one run; what counts is the ratio.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence

import asyncpg  # type: ignore[import-untyped]

SECONDS = 1.5
ROUNDS = 5
CONNECTIONS = (1, 4, 16)


async def _committing(connection: asyncpg.Connection, until: float, *, notify: bool) -> int:
    done = 0
    while time.perf_counter() < until:
        async with connection.transaction():
            await connection.execute("INSERT INTO notifying DEFAULT VALUES")
            if notify:
                await connection.execute("SELECT pg_notify('notifying', 'a:1')")
            else:
                await connection.execute("SELECT length('a:1')")
        done += 1
    return done


async def _rate(connections: Sequence[asyncpg.Connection], *, notify: bool) -> float:
    begun = time.perf_counter()
    counts = await asyncio.gather(*(_committing(one, begun + SECONDS, notify=notify) for one in connections))
    return sum(counts) / (time.perf_counter() - begun)


async def main(url: str) -> None:
    """Measure, and print a line for each number of connections."""
    for number in CONNECTIONS:
        connections = [await asyncpg.connect(url) for _ in range(number)]
        await connections[0].execute("CREATE TABLE IF NOT EXISTS notifying (id bigserial PRIMARY KEY)")
        plain, notifying = [], []
        for _ in range(ROUNDS):
            plain.append(await _rate(connections, notify=False))
            notifying.append(await _rate(connections, notify=True))
        await connections[0].execute("DROP TABLE notifying")
        for one in connections:
            await one.close()
        ratios = sorted(b / a for a, b in zip(plain, notifying, strict=True))
        print(
            f"{number:3} connections: {statistics.median(plain):7.0f} plain commits a second, "
            f"{statistics.median(notifying):7.0f} that notify; ratio {statistics.median(ratios):.2f} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
