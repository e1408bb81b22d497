"""Sub-agents on several workers: spread, capped, shared fairly, found again after deaths, and ended from the top."""

import asyncio
import dataclasses
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, Process, cluster, until
from tests.distributed.faults import proxied
from toolgate.agent.definition import AgentDefinition
from toolgate.distributed.agents import WorkerSubAgents
from toolgate.distributed.claims import Claimant, claim
from toolgate.distributed.dispatches import ClaimedTurn
from toolgate.distributed.names import turns_queue, version
from toolgate.distributed.workers import WorkerInfo, beat
from toolgate.protocol.approval import Approval
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import SessionManager, Turn
from toolgate.settings import SessionSettings
from toolgate.testing import ScriptedModel

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

AT_ONCE = 8
"""Sub-agents of one turn that work side by side."""


@pytest.fixture
async def family(own_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    """A cluster without workers whose sessions may have sub-agents; a user has three of them at a time."""
    options = dataclasses.replace(OPTIONS, user_agents=3)
    async with cluster(own_url, tmp_path, options, SESSION_CODING_ENABLED="true") as made:
        made.sessions = SessionManager(made.db, SessionSettings(coding_enabled=True))
        yield made


def _task(*steps: Any) -> list[Any]:
    return ["task", {"agent": "general", "prompt": json.dumps(list(steps))}]


def _spanning(key: str, seconds: float = 0.0, together: int = 0, until: str = "") -> list[Any]:
    span = {"key": key, "seconds": seconds, "together": together, "until": until}
    return _task([["span", span]], f"Child {key}.")


async def _parent(machines: Cluster, *steps: Any, user: str = "ada") -> Turn:
    session = await machines.sessions.create("coding", user=user, project="main")
    return await machines.begin(session.id, *steps)


async def _children(machines: Cluster, parent: Turn) -> list[Turn]:
    """The turns of a turn's sub-agents, in the order of their tasks."""
    sessions = [event.payload["session_id"] for event in await machines.events(parent.session_id)
                if event.kind == "agent_started"]  # fmt: skip
    found = [await machines.sessions.turns(session) for session in sessions]
    assert [len(turns) for turns in found] == [1] * len(found)
    return [turns[0] for turns in found]


def _peak(spans: list[str]) -> int:
    """How many sub-agents were at work at the same time, at the most. One that is repeated counts once."""
    running: Counter[str] = Counter()
    peak = 0
    for line in spans:
        running[line[1:].partition("@")[0]] += 1 if line[0] == "+" else -1
        peak = max(peak, sum(count > 0 for count in running.values()))
    return peak


def _begun(machines: Cluster) -> list[str]:
    """The spans that have begun, without their process."""
    return [line[1:].partition("@")[0] for line in machines.effects("spans") if line[0] == "+"]


async def _answers(machines: Cluster, turn: Turn) -> list[str]:
    return [message.content for message in await machines.sessions.messages(turn.session_id) if message.role == "tool"]


async def test_a_fan_out_is_spread_over_the_workers_and_no_turn_has_more_than_its_share_at_once(
    family: Cluster,
) -> None:
    wide = {"TOOLGATE_LIMITS_USER_AGENTS": "12", "TOOLGATE_DISTRIBUTED_AGENT_SLOTS": "6"}
    workers = [family.worker(**wide), family.worker(**wide)]
    await family.ready(*workers)
    turn = await _parent(family, [_spanning(f"c{n}", 1.0, AT_ONCE) for n in range(10)], "All of them.")
    ended = await family.ended(turn.id)
    spans = family.effects("spans")
    places = Counter(line.partition("@")[2] for line in spans if line[0] == "+")

    assert ended.status == "done"
    assert [f"Child c{n}." in answer for n, answer in enumerate(await _answers(family, turn))] == [True] * 10
    assert places.keys() == {str(process.popen.pid) for process in workers}
    assert _peak(spans) == AT_ONCE
    for process in workers:
        assert _peak([line for line in spans if line.endswith(f"@{process.popen.pid}")]) <= 6


async def test_a_worker_that_resumes_a_turn_counts_the_sub_agents_that_a_lost_worker_has_started(
    family: Cluster,
) -> None:
    claimed = await _claimed(family)
    lost, resumed = (WorkerSubAgents(family.db, claimed, lambda: True, *_NOTHING) for _ in range(2))
    before = [asyncio.create_task(_child_of(lost, f"c{n}")) for n in range(AT_ONCE)]
    await until(lambda: _as_many(family, claimed.turn, AT_ONCE), what="the first ones", logs=family.logs)
    for task in before:
        task.cancel()
    await asyncio.wait(before)
    tried, begin = list[str](), resumed._begin

    def noted(*args: Any) -> Turn:
        tried.append("")
        turn = begin(*args)
        tried[-1] = turn.id
        return turn

    resumed._begin = noted  # type: ignore[method-assign, assignment]
    late = asyncio.create_task(_child_of(resumed, "late"))  # in another order than before
    await until(lambda: len(tried) > 1, what="two attempts", logs=family.logs)
    refused, children = tried[0], await _children(family, claimed.turn)
    await family.runner.cancel(children[0].session_id)
    await until(lambda: _as_many(family, claimed.turn, AT_ONCE + 1), what="a place", logs=family.logs)
    late.cancel()
    await asyncio.wait({late})

    assert refused == ""
    assert len(children) == AT_ONCE
    assert tried[-1] in {child.id for child in await _children(family, claimed.turn)}


_NOTHING = (None, None, "", ToolMode.coding, None, None)
"""What a sub-agent on a worker does not get from its parent's process."""


async def _claimed(machines: Cluster) -> ClaimedTurn:
    """A turn that a worker has claimed."""
    about = WorkerInfo(id=str(uuid.uuid4()), version=version(), places={"main": ""}, slots=1, running=0, state="ready")
    await machines.db.write(lambda tx: beat(tx, about))
    await _parent(machines, "Not reached.")
    claimant = Claimant(worker=about.id, queue=turns_queue("main"), share=1, lease=600.0)
    found = await machines.db.write(lambda tx: claim(tx, claimant))
    assert isinstance(found, ClaimedTurn)
    return found


def _child_of(agents: WorkerSubAgents, call_id: str) -> Coroutine[Any, Any, dict[str, Any]]:
    general = AgentDefinition(name="general", description="Any.", prompt="Any.")
    return agents._child(general, ScriptedModel([]), "[]", "", call_id, lambda _: None)


async def test_a_user_has_no_more_sub_agents_at_once_than_the_cap_and_others_do_not_wait_for_them(
    family: Cluster,
) -> None:
    narrow = {"TOOLGATE_DISTRIBUTED_AGENT_SLOTS": "2"}  # so that three are on two workers
    await family.ready(family.worker(**narrow), family.worker(**narrow))
    greedy = [
        await _parent(family, [_spanning(f"g{place}{n}", until="modest") for n in range(5)], "Greedy.", user="greedy")
        for place in range(2)
    ]
    await until(lambda: len(_begun(family)) >= 3, what="the first three", logs=family.logs)
    modest = await _parent(family, [_spanning("m")], "Modest.", user="modest")
    first = await family.ended(modest.id)  # the greedy one's wait for it
    family.let("modest")
    ended = [await family.ended(turn.id) for turn in greedy]
    spans = family.effects("spans")
    theirs = [line for line in spans if line[1] == "g"]

    assert first.status == "done"
    assert [turn.status for turn in ended] == ["done", "done"]
    assert _peak(theirs) == 3
    assert len({line.partition("@")[2] for line in theirs}) == 2, "all of them on one worker"
    assert sorted(_begun(family)) == sorted([*(f"g{place}{n}" for place in range(2) for n in range(5)), "m"])


async def test_cancelling_ends_the_sub_agents_that_work_and_those_that_wait_for_a_place(family: Cluster) -> None:
    await family.ready(family.worker(TOOLGATE_DISTRIBUTED_AGENT_SLOTS="2"))
    turn = await _parent(family, [_spanning(f"c{n}", until="never") for n in range(5)], "Not reached.")
    await until(lambda: len(_begun(family)) == 2, what="two of them", logs=family.logs)
    await until(lambda: _as_many(family, turn, 5), what="all of them in the queue", logs=family.logs)
    await family.runner.cancel(turn.session_id)
    ended = await family.ended(turn.id)
    children = [await family.ended(child.id) for child in await _children(family, turn)]

    assert ended.status == "cancelled"
    assert [child.status for child in children] == ["cancelled"] * 5
    assert len(_begun(family)) == 2
    assert len(await _answers(family, turn)) == 5, "a call without an answer"


async def _as_many(machines: Cluster, turn: Turn, count: int) -> bool:
    return len(await _children(machines, turn)) == count


@pytest.mark.parametrize("victim", ["parent", "children"])
async def test_the_death_of_a_worker_starts_no_child_twice_and_the_parent_gets_every_answer(
    family: Cluster, victim: str
) -> None:
    few = {"TOOLGATE_LIMITS_USER_AGENTS": "6", "TOOLGATE_DISTRIBUTED_AGENT_SLOTS": "2"}
    workers = [family.worker(**few), family.worker(**few)]
    await family.ready(*workers)
    turn = await _parent(family, [_spanning(f"c{n}", until="death") for n in range(4)], "Everybody.")
    await until(lambda: len(_begun(family)) == 4, what="two on each", logs=family.logs)
    parents = await family.player(turn.id)
    dead: Process = parents if victim == "parent" else next(one for one in workers if one is not parents)
    lost = {line[1:].partition("@")[0] for line in family.effects("spans") if line.endswith(f"@{dead.popen.pid}")}
    await family.kill(dead)
    family.let("death")
    ended = await family.ended(turn.id)
    children = await _children(family, turn)

    assert (ended.status, ended.attempt) == ("done", 2 if victim == "parent" else 1)
    assert [f"Child c{n}." in answer for n, answer in enumerate(await _answers(family, turn))] == [True] * 4
    assert [child.status for child in children] == ["done"] * 4
    assert Counter(_begun(family)) == {f"c{n}": 2 if f"c{n}" in lost else 1 for n in range(4)}
    assert len([one for one in await family.sessions.list(children=True) if one.parent_id == turn.session_id]) == 4


async def test_the_same_task_with_the_same_id_is_another_child(family: Cluster) -> None:
    await family.ready(family.worker())
    again = _task([["note", {"key": "done"}]], "Did it.")
    turn = await _parent(family, [again], [again], "Twice.")
    ended = await family.ended(turn.id)

    assert ended.status == "done"
    assert family.effects() == ["done", "done"]
    assert len(await _children(family, turn)) == 2


async def test_a_sub_agent_asks_the_person_who_watches_its_parent_also_after_the_death_of_its_worker(
    family: Cluster,
) -> None:
    workers = [family.worker(), family.worker()]
    await family.ready(*workers)
    turn = await _parent(family, [_task([["risky", {"key": "allowed"}]], "It was allowed.")], "Well.")
    question = await family.question(turn.session_id)
    [child] = await _children(family, turn)
    await family.kill(await family.player(child.id))
    await until(lambda: _attempts(family, child, 2), what="another worker", logs=family.logs)
    again = await family.question(turn.session_id)
    await family.sessions.decide(question.id, Approval(allowed=True))
    ended = await family.ended(turn.id)
    kinds = Counter(event.kind for event in await family.events(turn.session_id))

    assert (question.agent, question.tool_name) == ("general", "risky")
    assert again == question
    assert ended.status == "done"
    assert "It was allowed." in (await _answers(family, turn))[0]
    assert family.effects() == ["allowed"]
    assert (kinds["approval_request"], kinds["approval_resolved"]) == (1, 1)


async def _attempts(machines: Cluster, turn: Turn, count: int) -> bool:
    found = await machines.sessions.turn(turn.id)
    return found is not None and found.attempt == count


async def test_cancelling_while_the_parents_worker_is_dead_ends_its_children_elsewhere(family: Cluster) -> None:
    few = {"TOOLGATE_DISTRIBUTED_AGENT_SLOTS": "1"}
    await family.ready(family.worker(**few), family.worker(**few))
    turn = await _parent(family, [_spanning(f"c{n}", until="never") for n in range(2)], "Not reached.")
    await until(lambda: len(_begun(family)) == 2, what="one on each", logs=family.logs)
    dead = await family.player(turn.id)
    dead.kill()
    assert await family.runner.cancel(turn.session_id)
    await family.bury(dead)
    ended = await family.ended(turn.id)
    children = [await family.ended(child.id) for child in await _children(family, turn)]
    next_one = await family.ended((await family.begin(turn.session_id, "And now?")).id)

    assert ended.status == "cancelled"
    assert [child.status for child in children] == ["cancelled", "cancelled"]
    assert len(await _answers(family, turn)) == 2
    assert next_one.status == "done"


async def test_a_database_that_is_away_for_a_moment_ends_no_child(family: Cluster) -> None:
    few = {"TOOLGATE_DISTRIBUTED_AGENT_SLOTS": "1"}
    async with proxied(family.url) as (proxy, way):
        workers = [family.worker(TOOLGATE_DATABASE_URL=way, **few), family.worker(TOOLGATE_DATABASE_URL=way, **few)]
        await family.ready(*workers)
        turn = await _parent(family, [_spanning(f"c{n}", until="healed") for n in range(2)], "Both.")
        await until(lambda: len(_begun(family)) == 2, what="one on each", logs=family.logs)
        proxy.cut()
        await asyncio.sleep(1.2)
        proxy.heal()
        family.let("healed")
        ended = await family.ended(turn.id)

    assert ended.status == "done"
    assert [f"Child c{n}." in answer for n, answer in enumerate(await _answers(family, turn))] == [True, True]
    assert [child.status for child in await _children(family, turn)] == ["done", "done"]


async def test_a_database_that_is_away_while_a_child_is_looked_after_is_waited_for(family: Cluster) -> None:
    await family.ready(family.worker(TEST_FLAKY="child"))
    turn = await _parent(family, [_spanning("c", 1)], "Waited.")
    ended = await family.ended(turn.id)

    assert ended.status == "done"
    assert "Child c." in (await _answers(family, turn))[0]
    assert _begun(family) == ["c"]


async def test_a_database_that_is_away_when_a_turn_is_taken_makes_it_no_other_mode(family: Cluster) -> None:
    await family.ready(family.worker(TEST_FLAKY="mode"))
    turn = await _parent(family, [_spanning("c", 0)], "In its own mode.")
    ended = await family.ended(turn.id)

    assert ended.status == "done"
    assert "Child c." in (await _answers(family, turn))[0]
