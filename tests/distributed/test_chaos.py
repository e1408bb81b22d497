"""Everything at once: workers and gateways are killed, workers sleep, the server restarts, a way to it is cut."""

import asyncio
import contextlib
import functools
import os
import random
import signal
from collections import Counter
from typing import Any

import pytest
from websockets.exceptions import WebSocketException

from tests.distributed.cluster import LEASE, Cluster, Process, until
from tests.distributed.faults import Proxy, proxied, restart
from tests.distributed.gateways import Client, client, gateway, port_of
from toolgate.errors import RequestRepeated, SessionBusy, StoreError
from toolgate.gateway.projection import detail_frame, plain_frame
from toolgate.sessions import Event, Turn

SIZE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
USERS = 3
SESSIONS = 5 if SIZE == 1 else 20
TURNS = 4 if SIZE == 1 else max(1, SIZE // 2)
"""Turns of each session: 20 in all, 200 at `make torture`."""

pytestmark = [pytest.mark.distributed, pytest.mark.torture, pytest.mark.timeout(300 if SIZE == 1 else 1800)]


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


class Follower:
    """A person's page: it watches their sessions through some gateway, and through another when that one dies."""

    def __init__(self, user: str, sessions: list[str], gateways: list[Process]) -> None:
        self._user = user
        self._sessions = sessions
        self._gateways = gateways
        self.seen: dict[str, list[int]] = {session: [] for session in sessions}

    def has(self, session: str, seq: int) -> bool:
        return seq in self.seen[session]

    async def follow(self, machines: Cluster, chance: random.Random) -> None:
        while True:
            with contextlib.suppress(OSError, WebSocketException, AssertionError):
                port = await port_of(machines, chance.choice(self._gateways))
                async with client(port, f"token-of-{self._user}") as watching:
                    for session in self._sessions:
                        after = max(self.seen[session], default=0)
                        await watching.send("session.subscribe", session_id=session, after_seq=after, details=True)
                    await self._watch(watching)
            await asyncio.sleep(0.2)

    async def _watch(self, watching: Client) -> None:
        """Note what comes, until the gateway ends."""
        taken = 0
        while watching.reading is not None and (not watching.reading.done() or taken < len(watching.frames)):
            for frame in watching.frames[taken:]:
                taken += 1
                if "seq" in frame:
                    self.seen[frame["session_id"]].append(frame["seq"])
            await asyncio.sleep(0.05)


async def _trouble(
    machines: Cluster, workers: list[Process], gateways: list[Process], chance: random.Random, proxy: Proxy
) -> None:
    """One thing after the other goes wrong, in an order that nobody knows."""
    restarted = 0
    while True:
        for what in chance.sample(["kill", "pause", "cut", "swallow", "restart", "gateway"], 6):
            await asyncio.sleep(chance.random() * 1.5)
            victim = chance.choice(workers[1:])
            if what == "kill":
                victim.kill()
                workers.remove(victim)
                workers.append(machines.worker())
            elif what == "gateway":
                gateways.pop(0).kill()
                gateways.append(_gateway(machines))
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


def _gateway(machines: Cluster) -> Process:
    tokens = ",".join(f"user{number}:token-of-user{number}" for number in range(USERS))
    return gateway(machines, TOOLGATE_GATEWAY_TOKENS=tokens)


async def test_every_turn_ends_and_nothing_is_lost_or_done_twice(machines: Cluster) -> None:
    seed = random.randrange(10**6)
    async with proxied(machines.url) as (proxy, way):
        workers = [
            machines.worker(TOOLGATE_DATABASE_URL=way),
            machines.worker(TEST_CLOCK_SKEW="86400"),
            machines.worker(TEST_CLOCK_SKEW="-86400"),
        ]
        gateways = [_gateway(machines), _gateway(machines)]
        await machines.ready(*workers)
        users = [f"user{number % USERS}" for number in range(SESSIONS)]
        sessions = [await machines.session(user=user) for user in users]
        followers = [
            Follower(one, [session for session, user in zip(sessions, users, strict=True) if user == one], gateways)
            for one in sorted(set(users))
        ]
        talks = await _while_it_goes_wrong(machines, workers, gateways, proxy, followers, sessions, seed)
        seen = {session: seqs for follower in followers for session, seqs in follower.seen.items()}
        for session, turns in zip(sessions, talks, strict=True):
            events = await machines.events(session)
            _check(seed, turns, events)
            assert seen[session] == _durable(events), f"seed {seed}: a frame is missing or came twice"
    notes = Counter(machines.effects())

    assert [key for key, count in notes.items() if count > 1] == [], f"seed {seed}: done twice"


async def _while_it_goes_wrong(
    machines: Cluster,
    workers: list[Process],
    gateways: list[Process],
    proxy: Proxy,
    followers: list[Follower],
    sessions: list[str],
    seed: int,
) -> list[list[tuple[Turn, list[Any]]]]:
    """The turns of every session, played while everything breaks; then the followers catch up."""
    chance = random.Random(seed)
    trouble = asyncio.create_task(_trouble(machines, workers, gateways, chance, proxy))
    following = [asyncio.create_task(follower.follow(machines, random.Random(seed))) for follower in followers]
    try:
        async with asyncio.timeout(200 if SIZE == 1 else 1500):
            talking = (
                _talk(machines, session, number, random.Random(seed + number))
                for number, session in enumerate(sessions)
            )
            talks = await asyncio.gather(*talking)
            trouble.cancel()
            await asyncio.wait({trouble})
            last = [(await machines.events(session))[-1].seq for session in sessions]
            for session, seq in zip(sessions, last, strict=True):
                [follower] = [one for one in followers if session in one.seen]
                await until(functools.partial(follower.has, session, seq), what="a follower", logs=machines.logs)
    except TimeoutError:
        pytest.fail(f"seed {seed}: turns do not end\n{machines.logs()}")
    finally:
        for task in (trouble, *following):
            task.cancel()
        await asyncio.wait({trouble, *following})
        if not trouble.cancelled() and (broken := trouble.exception()) is not None:
            raise broken
    return talks


def _durable(events: list[Event]) -> list[int]:
    """The numbers of the events that clients are told of."""
    return [e.seq for e in events if plain_frame(e, "", "") is not None or detail_frame(e, "", "") is not None]


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
