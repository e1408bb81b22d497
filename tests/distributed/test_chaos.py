"""Everything at once: turns go on while workers are killed and paused, the server restarts, and a way to it is cut."""

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from typing import Any

import pytest

from tests.distributed.cluster import LEASE, Cluster, Process
from tests.distributed.faults import Proxy, proxied, restart
from toolgate.errors import RequestRepeated, SessionBusy, StoreError
from toolgate.sessions import Event, Turn

SIZE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
SESSIONS = 5 if SIZE == 1 else 20
TURNS = 4 if SIZE == 1 else max(1, SIZE // 2)
"""Turns of each session: 20 in all, 200 at `make torture`."""

pytestmark = [pytest.mark.distributed, pytest.mark.torture, pytest.mark.timeout(120 if SIZE == 1 else 1800)]


def _steps(key: str, chance: random.Random) -> list[Any]:
    """Some rounds of calls, and a last word that nobody else says."""
    steps: list[Any] = []
    for number in range(chance.randint(1, 3)):
        calls = [
            [chance.choice(["note", "look"]), {"key": f"{key}.{number}.{place}", "seconds": chance.random() * 0.3}]
            for place in range(chance.randint(1, 3))
        ]
        steps.append(calls)
    return [*steps, f"end of {key}"]


async def _talk(machines: Cluster, session: str, number: int, chance: random.Random) -> list[tuple[Turn, list[Any]]]:
    """Some turns of one session, one after the other; what is not accepted is sent again, as a client does."""
    done = []
    for place in range(TURNS):
        steps = _steps(f"s{number}t{place}", chance)
        turn = await _sent(machines, session, steps, f"r{place}")
        done.append((await _waited(machines, turn.id), steps))
    return done


async def _sent(machines: Cluster, session: str, steps: list[Any], request: str) -> Turn:
    import json

    while True:
        try:
            return await machines.runner.begin(session, json.dumps(steps), request_id=request)
        except RequestRepeated as repeated:
            turn = await machines.sessions.turn(repeated.turn_id)
            assert turn is not None
            return turn
        except (StoreError, SessionBusy):
            await asyncio.sleep(0.2)


async def _waited(machines: Cluster, turn_id: str) -> Turn:
    while True:
        with contextlib.suppress(StoreError):
            turn = await machines.sessions.turn(turn_id)
            assert turn is not None
            if turn.status != "running":
                return turn
        await asyncio.sleep(0.2)


async def _trouble(machines: Cluster, workers: list[Process], chance: random.Random, proxy: Proxy) -> None:
    """One thing after the other goes wrong, in an order that nobody knows."""
    restarted = 0
    while True:
        for what in chance.sample(["kill", "pause", "cut", "swallow", "restart"], 5):
            await asyncio.sleep(chance.random() * 1.5)
            victim = chance.choice(workers[1:])
            if what == "kill":
                victim.kill()
                workers.remove(victim)
                workers.append(machines.worker())
            elif what == "pause":
                victim.signal(signal.SIGSTOP)
                await asyncio.sleep(LEASE * 1.5)
                victim.signal(signal.SIGCONT)
            elif what == "restart" and restarted < SIZE:
                restarted += 1
                await restart(machines.url, pause=0.5)
            elif what in ("cut", "swallow"):
                proxy.cut() if what == "cut" else proxy.swallow()
                await asyncio.sleep(LEASE * 1.5)
                proxy.heal()


async def test_every_turn_ends_and_nothing_is_lost_or_done_twice(machines: Cluster) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    async with proxied(machines.url) as (proxy, way):
        workers = [
            machines.worker(TOOLGATE_DATABASE_URL=way),
            machines.worker(TEST_CLOCK_SKEW="86400"),
            machines.worker(TEST_CLOCK_SKEW="-86400"),
        ]
        await machines.ready(*workers)
        sessions = [await machines.session(user=f"user{number % 3}") for number in range(SESSIONS)]
        trouble = asyncio.create_task(_trouble(machines, workers, chance, proxy))
        try:
            async with asyncio.timeout(100 if SIZE == 1 else 1500):
                talks = await asyncio.gather(
                    *(
                        _talk(machines, session, number, random.Random(seed + number))
                        for number, session in enumerate(sessions)
                    )
                )
        except TimeoutError:
            pytest.fail(f"seed {seed}: turns do not end\n{machines.logs()}")
        finally:
            trouble.cancel()
            await asyncio.wait({trouble})
            if not trouble.cancelled() and trouble.exception() is not None:
                raise trouble.exception()  # type: ignore[misc]
        for session, turns in zip(sessions, talks, strict=True):
            _check(seed, turns, await machines.events(session))
    notes = Counter(machines.effects())

    assert [key for key, count in notes.items() if count > 1] == [], f"seed {seed}: done twice"


def _check(seed: int, turns: list[tuple[Turn, list[Any]]], events: list[Event]) -> None:
    told = f"seed {seed}"
    order = [event.turn_id for event in events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), told
    assert [turn.id for turn, _ in turns] == list(dict.fromkeys(order)), f"{told}: turns are interleaved or lost"
    for turn, steps in turns:
        own = [event for event in events if event.turn_id == turn.id]
        kinds = Counter(event.kind for event in own)
        said = [event.payload for event in own if event.kind == "message"]
        calls = [call for step in steps[:-1] for call in step]
        assert turn.status == "done", f"{told}: {turn}"
        assert kinds["turn_started"] == kinds["turn_finished"] == 1, told
        assert kinds["call_proposed"] == kinds["call_finished"] == len(calls), f"{told}: {kinds}"
        assert [message["content"] for message in said if message["role"] == "assistant"] == [
            *("" for _ in steps[:-1]),
            steps[-1],
        ], told
        assert sum(message["role"] == "tool" for message in said) == len(calls), told
