"""A turn on a worker: handed out, played, asked about, cancelled, and shared with sub-agents; one cluster for all."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.distributed.cluster import OPTIONS, Cluster, cluster, until
from tests.distributed.conftest import new_database
from toolgate.distributed import queue as turn_queue
from toolgate.distributed.limits import LimitReached
from toolgate.distributed.options import ClusterOptions
from toolgate.distributed.reaper import Reaper
from toolgate.distributed.runner import DurableRunner
from toolgate.distributed.turn_executor import MAX_ATTEMPTS
from toolgate.errors import RequestRepeated, SessionBusy
from toolgate.protocol.approval import Approval
from toolgate.sessions import SessionManager, transcript
from toolgate.sessions.driver import Transaction
from toolgate.settings import Settings

pytestmark = [pytest.mark.postgres, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """Two workers; coding is open, so that there are sub-agents."""
    url = await new_database(server_url)
    base: Path = tmp_path_factory.mktemp("cluster")
    options = dataclasses.replace(OPTIONS, lease=10.0)  # nobody dies here, however slow the machine is
    async with cluster(url, base, options, SESSION_CODING_ENABLED="true") as made:
        made.sessions = SessionManager(made.db, Settings.defaults().session.model_copy(update={"coding_enabled": True}))
        await made.ready(made.worker(), made.worker())
        yield made


async def _pending(running: Cluster, session: str) -> list[Any]:
    return [row for row in await running.sessions.approvals(session) if row.state == "pending"]


async def _state(running: Cluster, turn_id: str) -> str:
    row = await running.db.read(lambda tx: tx.row("SELECT state FROM dispatches WHERE turn_id = ?1", turn_id))
    return "" if row is None else str(row[0])


async def test_a_turn_is_played_by_a_worker_and_is_in_the_log(running: Cluster) -> None:
    session = await running.session()
    turn = await running.begin(session, [["note", {"key": "one"}]], "All done.")
    ended = await running.ended(turn.id)
    said = [(message.role, message.content) for message in await running.sessions.history(session)]

    assert (ended.status, ended.attempt, ended.usage.input_tokens) == ("done", 1, 20)
    assert said[-1] == ("assistant", "All done.")
    assert running.effects().count("one") == 1
    assert await _state(running, turn.id) == "ended"


async def test_a_session_has_one_turn_at_a_time_and_a_request_starts_one(running: Cluster) -> None:
    session = await running.session()
    steps = json.dumps([[["look", {"key": "busy", "seconds": 1}]], "Done."])
    turn = await running.runner.submit(session, steps, request_id="mine")
    with pytest.raises(SessionBusy):
        await running.begin(session, "Too early.")
    with pytest.raises(RequestRepeated) as repeated:
        await running.runner.submit(session, steps, request_id="mine")
    lease = await running.sessions.try_claim(session)
    if lease is not None:  # nobody had taken it yet: an agent in this process must not end it
        with pytest.raises(SessionBusy, match="in the hands of the workers"):
            await running.sessions.start_turn(lease, "Mine now.")
        await running.sessions.release(lease)
    ended = await running.ended(turn.id)

    assert repeated.value.turn_id == turn.id
    assert ended.status == "done"


async def test_a_turn_and_its_place_in_the_queue_are_written_together_or_not_at_all(running: Cluster) -> None:
    session = await running.session()
    said = transcript.new_message("user", '["Not sent."]', None, None)
    begun: list[str] = []

    def half(transaction: Transaction) -> None:
        begun.append(running.runner._submit(transaction, session, said, None).id)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await running.db.write(half)

    assert begun[0] not in await _jobs(running)
    assert await running.sessions.turns(session) == []
    assert (await running.ended((await running.begin(session, "Sent.")).id)).status == "done"


async def test_a_question_waits_with_nobody_at_work_and_its_answer_goes_on(running: Cluster) -> None:
    session = await running.session()
    turn = await running.begin(session, [["risky", {"key": "asked"}]], "Asked and done.")
    await until(lambda: _pending(running, session), what="the question", logs=running.logs)
    await until(lambda: _is(running, turn.id, "parked"), what="parking", logs=running.logs)
    free = await running.sessions.try_claim(session)
    assert free is not None
    await running.sessions.release(free)
    [question] = await _pending(running, session)
    await running.sessions.decide(question.id, Approval(allowed=True))
    ended = await running.ended(turn.id)
    events = await running.events(session)

    assert (ended.status, ended.attempt) == ("done", 1)
    assert running.effects().count("asked") == 1
    assert [event.kind for event in events].count("approval_request") == 1
    assert [event.kind for event in events].count("approval_resolved") == 1


async def _is(running: Cluster, turn_id: str, state: str) -> bool:
    return await _state(running, turn_id) == state


async def test_a_turn_that_waits_for_a_person_can_be_cancelled(running: Cluster) -> None:
    session = await running.session()
    turn = await running.begin(session, [["risky", {"key": "never"}]], "Not reached.")
    await until(lambda: _is(running, turn.id, "parked"), what="parking", logs=running.logs)
    assert await running.runner.cancel(session)
    ended = await running.ended(turn.id)
    transcript = await running.sessions.messages(session)

    assert ended.status == "cancelled"
    assert "never" not in running.effects()
    assert [message.role for message in transcript] == ["user", "assistant", "tool"]
    assert await _pending(running, session) == []


async def test_cancelling_ends_a_turn_wherever_it_is(running: Cluster) -> None:
    session = await running.session()
    turn = await running.begin(session, [["look", {"key": "long", "seconds": 30}]], "Not reached.")
    await until(lambda: "long" in running.effects("looks"), what="the look", logs=running.logs)
    assert await running.runner.cancel(session)
    ended = await running.ended(turn.id)

    assert ended.status == "cancelled"
    assert not await running.runner.cancel(session)


async def test_a_turn_that_nobody_has_taken_is_cancelled_at_once(running: Cluster) -> None:
    await _worker_for(running, "nowhere")
    session = await running.session(project="nowhere")
    turn = await running.begin(session, "Not reached.")
    assert await running.runner.cancel(session)
    ended = await running.sessions.turn(turn.id)

    assert ended is not None
    assert ended.status == "cancelled"


async def _worker_for(running: Cluster, workspace: str) -> None:
    """Make believe that somebody serves a workspace."""
    sql = (
        "INSERT INTO workers (id, name, version, workspaces, slots, state, started_at, seen_at) "
        "VALUES (?1, 'nobody', '0', ?2, 1, 'gone', 0, EXTRACT(EPOCH FROM clock_timestamp())) "
        "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
    )
    await running.db.write(lambda tx: tx.run(sql, f"none-{workspace}", json.dumps([workspace])))


async def test_sub_agents_work_on_whichever_worker_takes_them(running: Cluster) -> None:
    session = (await running.sessions.create("coding", user="ada", project="main")).id
    tasks = [
        ["task", {"agent": "general", "prompt": json.dumps([[["look", {"key": f"child{n}"}]], f"Child {n}."])}]
        for n in range(3)
    ]
    turn = await running.begin(session, tasks, "Family.")
    ended = await running.ended(turn.id)
    answers = [message.content for message in await running.sessions.messages(session) if message.role == "tool"]
    children = [found for found in await running.sessions.list(children=True) if found.parent_id == session]
    events = await running.events(session)

    assert ended.status == "done", running.logs()
    assert [f"Child {n}." in answer for n, answer in enumerate(answers)] == [True, True, True]
    assert {child.user for child in children} == {"ada"}
    assert len([event for event in events if event.kind == "agent_started"]) == 3


async def test_cancelling_from_the_top_ends_the_sub_agents(running: Cluster) -> None:
    session = (await running.sessions.create("coding", user="ada", project="main")).id
    prompt = json.dumps([[["look", {"key": "deep", "seconds": 40}]], "Not reached."])
    turn = await running.begin(session, [["task", {"agent": "general", "prompt": prompt}]], "Not reached.")
    await until(lambda: "deep" in running.effects("looks"), what="the child", logs=running.logs)
    await running.runner.cancel(session)
    ended = await running.ended(turn.id)
    [child] = [found for found in await running.sessions.list(children=True) if found.parent_id == session]
    [below] = await running.sessions.turns(child.id)

    assert ended.status == "cancelled"
    assert below.status == "cancelled"


async def test_one_user_cannot_keep_the_others_waiting(running: Cluster) -> None:
    greedy = [
        await running.begin(await running.session(user="greedy"), [["look", {"key": "g", "seconds": 1.5}]], "G.")
        for _ in range(20)
    ]
    modest = await running.begin(await running.session(user="modest"), "Quick.")
    first = await running.ended(modest.id)
    left = [turn for turn in greedy if (await running.sessions.turn(turn.id)).status == "running"]  # type: ignore[union-attr]
    sql = "SELECT COUNT(*) FROM dispatches WHERE user_name = 'greedy' AND state = 'running'"
    row = await running.db.read(lambda tx: tx.row(sql))
    for turn in greedy:
        await running.runner.cancel(turn.session_id)
    await asyncio.gather(*(running.ended(turn.id) for turn in greedy))

    assert first.status == "done"
    assert len(left) > 10
    assert row is not None
    assert row[0] <= OPTIONS.user_turns


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (ClusterOptions.of(Settings.defaults(), queue_length=1), "1 turns are waiting for a worker already"),
        (ClusterOptions.of(Settings.defaults(), turns_per_minute=1), "You have sent 1 messages in the last minute"),
        (
            ClusterOptions.of(Settings.defaults(), tokens_per_day=1, turns_per_minute=0),
            "You have used the 1 tokens of a day",
        ),
    ],
    ids=["queue", "rate", "budget"],
)
async def test_over_a_limit_it_is_said_which_and_nothing_is_written(
    running: Cluster, options: ClusterOptions, said: str
) -> None:
    user = f"limited{options.queue_length}{options.turns_per_minute}"
    await _worker_for(running, "nowhere2")
    first = await running.session(user=user)
    await running.ended((await running.begin(first, "First.")).id)
    waiting = await running.begin(await running.session(user="other", project="nowhere2"), "Waits.")
    runner = DurableRunner(running.db, running.url, options, Settings.defaults())
    with pytest.raises(LimitReached, match=said):
        await runner.submit(first, '["Second."]')
    await runner.aclose()
    await running.runner.cancel(waiting.session_id)

    assert len(await running.sessions.turns(first)) == 1


async def test_a_workspace_that_nobody_serves_is_refused_at_once(running: Cluster) -> None:
    session = await running.session(project="unknown")
    with pytest.raises(LimitReached, match="No worker serves the workspace 'unknown'"):
        await running.begin(session, "Hello?")

    assert await running.sessions.turns(session) == []


async def test_no_job_is_left_of_a_turn_that_has_ended_or_waits_for_a_person(running: Cluster) -> None:
    over = await running.ended((await running.begin(await running.session(), "Long ago.")).id)
    asked = await running.begin(await running.session(), [["risky", {"key": "old question"}]], "Not reached.")
    await until(lambda: _is(running, asked.id, "parked"), what="parking", logs=running.logs)
    jobs = await _jobs(running)
    await Reaper(running.db, OPTIONS, None).round()
    log = await running.db.read(lambda tx: turn_queue._run(tx, lambda queries: queries.queue_log()))
    await running.runner.cancel(asked.session_id)
    ended = await running.ended(asked.id)

    assert over.id not in jobs
    assert asked.id not in jobs
    assert log == []
    assert ended.status == "cancelled"


async def _jobs(running: Cluster) -> str:
    """What is in the queue, waiting or claimed."""
    found = await running.db.read(lambda tx: turn_queue._run(tx, lambda queries: queries.browse_queue(limit=1000)))
    return str([job.payload for job in found])


async def test_a_turn_over_which_too_many_workers_were_lost_is_ended(running: Cluster) -> None:
    session = await running.session()
    turn = await running.begin(session, [["risky", {"key": "poison"}]], "Not reached.")
    await until(lambda: _is(running, turn.id, "parked"), what="parking", logs=running.logs)
    lost = "UPDATE turns SET attempt = ?2 WHERE id = ?1"
    await running.db.write(lambda tx: tx.run(lost, turn.id, MAX_ATTEMPTS + 1))
    [question] = await _pending(running, session)
    await running.sessions.decide(question.id, Approval(allowed=True))
    ended = await running.ended(turn.id)

    assert ended.status == "failed"
    assert "workers were lost while they ran this turn" in ended.error
    assert "poison" not in running.effects()
