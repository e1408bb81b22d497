"""Everything at once: workers and gateways are killed, workers sleep, the server restarts, a way to it is cut."""

import asyncio
import contextlib
import functools
import itertools
import json
import math
import os
import random
import sys
from collections import Counter
from typing import Any

import pytest

from tests.distributed.cluster import Cluster, Process, until
from tests.distributed.faults import proxied
from tests.distributed.gateways import gateway, port_of
from tests.distributed.people import Follower
from tests.distributed.trouble import Trouble
from toolgate.errors import RequestRepeated, SessionBusy, StoreError
from toolgate.gateway.projection import detail_frame, plain_frame
from toolgate.sessions import Event, SessionManager, Turn
from toolgate.settings import SessionSettings

SIZE = int(os.environ.get("TOOLGATE_TORTURE", "1"))
USERS = 3
SESSIONS = 4 if SIZE == 1 else 20
TURNS = 3 if SIZE == 1 else max(1, SIZE // 2)
"""Turns of each session at least: 12 in all, 200 at `make torture`; more, until everything has gone wrong."""
TROUBLES = 1 if SIZE == 1 else 4
"""Times that each kind of trouble happens at least."""

pytestmark = [pytest.mark.postgres, pytest.mark.torture, pytest.mark.timeout(300 if SIZE == 1 else 1800)]

Talk = list[tuple[Turn, list[Any]]]
"""The turns of a session, each with the steps that were asked for."""


def _steps(key: str, chance: random.Random) -> list[Any]:
    """Some rounds of calls, now and then with a question or a sub-agent, and a last word that nobody else says."""
    steps: list[Any] = []
    for number in range(chance.randint(1, 3)):
        kinds = chance.choices(["note", "look", "risky", "task"], [4, 4, 1, 1], k=chance.randint(1, 3))
        steps.append([_call(kind, f"{key}.{number}.{place}", chance) for place, kind in enumerate(kinds)])
    return [*steps, f"end of {key}"]


def _call(kind: str, key: str, chance: random.Random) -> list[Any]:
    seconds = chance.random() * (1.2 if kind == "note" else 0.3)  # long enough to be hit between effect and end
    if kind == "risky":
        return [kind, {"key": key}]
    if kind == "task":
        below = [[["note", {"key": key, "seconds": seconds}]], f"end of {key}"]
        return [kind, {"agent": "general", "prompt": json.dumps(below)}]
    return [kind, {"key": key, "seconds": seconds}]


async def _talk(
    machines: Cluster, session: str, number: int, chance: random.Random, trouble: Trouble, done: list[int]
) -> Talk:
    """Turns of one session, one after the other; what is not accepted is sent again, as a client does."""
    talk: Talk = []
    for place in itertools.count():
        if place >= TURNS and trouble.has_happened(TROUBLES):
            return talk
        steps = _steps(f"s{number}t{place}", chance)
        turn = await _sent(machines, session, steps, f"r{place}")
        talk.append((await _waited(machines, turn.id), steps))
        done.append(number)
    raise AssertionError


async def _sent(machines: Cluster, session: str, steps: list[Any], request: str) -> Turn:
    while True:
        try:
            return await machines.runner.submit(session, json.dumps(steps), request_id=request)
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


def _gateway(machines: Cluster, way: str) -> Process:
    tokens = ",".join(f"user{number}:token-of-user{number}" for number in range(USERS))
    return gateway(machines, TOOLGATE_GATEWAY_TOKENS=tokens, TOOLGATE_DATABASE_URL=way)


async def test_every_turn_ends_and_nothing_is_lost_or_done_twice(hurried: Cluster) -> None:
    seed = random.randrange(10**6)
    hurried.sessions = SessionManager(hurried.db, SessionSettings(coding_enabled=True))
    hurried.environment["SESSION_CODING_ENABLED"] = "true"
    async with proxied(hurried.url) as (proxy, way):
        workers = [
            hurried.worker(TOOLGATE_DATABASE_URL=way),
            hurried.worker(TEST_CLOCK_SKEW="86400"),
            hurried.worker(TEST_CLOCK_SKEW="-86400"),
        ]
        gateways = [_gateway(hurried, way), _gateway(hurried, way)]
        await hurried.ready(*workers)
        for door in gateways:  # a process that finds no database when it starts ends and says so
            await port_of(hurried, door)
        users = [f"user{number % USERS}" for number in range(SESSIONS)]
        sessions = [(await hurried.sessions.create("coding", user=user, project="main")).id for user in users]
        followers = [
            Follower(one, [session for session, user in zip(sessions, users, strict=True) if user == one], gateways)
            for one in sorted(set(users))
        ]
        trouble = Trouble(hurried, workers, gateways, proxy, lambda: _gateway(hurried, way), random.Random(seed))
        talks = await _while_it_goes_wrong(hurried, trouble, followers, sessions, seed)
        seen = {session: seqs for follower in followers for session, seqs in follower.seen.items()}
        notes = Counter(hurried.effects())
        logs = {session: await hurried.events(session) for session in sessions}
        for session, talk in zip(sessions, talks, strict=True):
            _check(f"seed {seed}", talk, logs[session], notes)
            assert seen[session] == _durable(logs[session]), f"seed {seed}: a frame is missing or came twice"
            for follower in followers:
                follower.check_text(session, [steps[-1] for _, steps in talk])
        below = [one for one in await hurried.sessions.list(children=True, limit=10_000) if one.parent_id in sessions]
        for child in below:
            [turn] = await hurried.sessions.turns(child.id)
            assert turn.status == "done", f"seed {seed}: {turn}"
    _tell(seed, trouble, talks, logs)

    assert [key for key, count in notes.items() if count > 1] == [], f"seed {seed}: done twice"


async def _while_it_goes_wrong(
    machines: Cluster, trouble: Trouble, followers: list[Follower], sessions: list[str], seed: int
) -> list[Talk]:
    """The turns of every session, played while everything breaks; then the followers catch up."""
    done: list[int] = []
    troubling = asyncio.create_task(trouble.go_on(1 if SIZE == 1 else math.inf))
    following = [asyncio.create_task(follower.follow(machines, random.Random(seed))) for follower in followers]
    following.append(asyncio.create_task(trouble.supervise()))
    try:
        async with asyncio.timeout(200 if SIZE == 1 else 1500):
            talking = (
                _talk(machines, session, number, random.Random(seed + number), trouble, done)
                for number, session in enumerate(sessions)
            )
            talks = await asyncio.gather(*talking)
            troubling.cancel()
            await asyncio.wait({troubling})
            last = [(await machines.events(session))[-1].seq for session in sessions]
            for session, seq in zip(sessions, last, strict=True):
                [follower] = [one for one in followers if session in one.seen]
                await until(functools.partial(follower.has, session, seq), what="a follower", logs=machines.logs)
    except TimeoutError:
        sql = "SELECT d.state, COUNT(a.id) FROM dispatches d LEFT JOIN approvals a ON a.turn_id = d.turn_id"
        left = await machines.db.read(lambda tx: tx.rows(f"{sql} WHERE d.state <> 'ended' GROUP BY d.turn_id, d.state"))
        told = f"{len(done)} have, left are these (state, questions): {left}"
        pytest.fail(f"seed {seed}: turns do not end; {told}\n{machines.logs()}")
    finally:
        for task in (troubling, *following):
            task.cancel()
        await asyncio.wait({troubling, *following})
        for task in (troubling, *following):
            if not task.cancelled() and (broken := task.exception()) is not None:
                raise broken
    return talks


def _durable(events: list[Event]) -> list[int]:
    """The numbers of the events that clients are told of."""
    return [e.seq for e in events if plain_frame(e, "", "") is not None or detail_frame(e, "", "") is not None]


def _check(told: str, turns: Talk, events: list[Event], notes: Counter[str]) -> None:
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), told
    order = [turn_id for turn_id, _ in itertools.groupby(event.turn_id for event in events)]
    assert order == [turn.id for turn, _ in turns], f"{told}: turns are interleaved or lost"
    for turn, steps in turns:
        own = [event for event in events if event.turn_id == turn.id]
        kinds = Counter(event.kind for event in own)
        said = [event.payload for event in own if event.kind == "message"]
        calls = [call for step in steps[:-1] for call in step]
        questions = sum(name == "risky" for name, _ in calls)
        assert turn.status == "done", f"{told}: {turn}"
        assert kinds["turn_started"] == kinds["turn_finished"] == 1, told
        assert kinds["call_proposed"] == kinds["call_finished"] == len(calls), f"{told}: {kinds}"
        assert kinds["approval_request"] == kinds["approval_resolved"] == questions, f"{told}: {kinds}"
        assert [message["content"] for message in said if message["role"] == "user"] == [json.dumps(steps)], told
        assert [message["content"] for message in said if message["role"] == "assistant"] == [
            *("" for _ in steps[:-1]),
            steps[-1],
        ], told
        assert sum(message["role"] == "tool" for message in said) == len(calls), told
        ends = [event.payload for event in own if event.kind == "call_finished"]
        for (name, arguments), end in zip(calls, ends, strict=True):
            _check_call(f"{told}: {name} {arguments}: {end}", name, arguments.get("key", ""), end, notes)


def _check_call(told: str, name: str, key: str, end: dict[str, Any], notes: Counter[str]) -> None:
    """A call was done once and says so, or nobody knows; nobody has cancelled or refused anything."""
    assert end["tool_name"] == name, told
    if end.get("uncertain"):
        assert name in ("note", "risky"), told
        return
    assert end["status"] == "success", told
    if name in ("note", "risky"):
        assert notes[key] == 1, told


def _tell(seed: int, trouble: Trouble, talks: list[Talk], logs: dict[str, list[Event]]) -> None:
    """The numbers of the run, for whoever looks at them (`pytest -s`)."""
    turns = [turn for talk in talks for turn, _ in talk]
    gap, quiet, before, after = max(
        (later.created_at - earlier.created_at, trouble.quiet(earlier.created_at, later.created_at),
         earlier.kind, later.kind)
        for events in logs.values()
        for earlier, later in itertools.pairwise(events)
        if earlier.turn_id == later.turn_id
    )  # fmt: skip
    sys.stdout.write(
        f"\nseed {seed}: {len(turns)} turns, {sum(turn.attempt - 1 for turn in turns)} takeovers, "
        f"{dict(sorted(trouble.counts.items()))}, longest gap in a turn {gap:.1f} s "
        f"(from {before} to {after}; {quiet:.1f} s of it without trouble)\n"
    )
