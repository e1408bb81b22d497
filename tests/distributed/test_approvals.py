"""Questions to people: answered through any gateway, once, in time or not at all, whoever asked and whoever is gone."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.cluster import OPTIONS, Cluster, cluster, until
from tests.distributed.gateways import Client, client, gateway, port_of
from toolgate.errors import SessionBusy
from toolgate.protocol.approval import Approval
from toolgate.sessions.driver import Transaction

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(240)]

NO_ANSWER = "nobody answered in time"


@contextlib.asynccontextmanager
async def _machines(url: str, base: Path, **environment: str) -> AsyncIterator[Cluster]:
    async with cluster(url, base, OPTIONS, **environment) as made:
        yield made


async def _told(machines: Cluster, session: str) -> str:
    """What the model was told about its call."""
    return [message.content for message in await machines.sessions.messages(session) if message.role == "tool"][-1]


async def _count(machines: Cluster, session: str, kind: str) -> int:
    return [event.kind for event in await machines.events(session)].count(kind)


@pytest.mark.parametrize("skew", ["7200", "-7200"], ids=["ahead", "behind"])
async def test_a02_a_parked_turn_is_woken_by_the_deadline_of_its_question_whatever_the_workers_clock_says(
    own_url: str, tmp_path: Path, skew: str
) -> None:
    async with _machines(own_url, tmp_path, TOOLGATE_AGENT_APPROVAL_TIMEOUT="3", TEST_CLOCK_SKEW=skew) as machines:
        await machines.ready(machines.worker())
        session = await machines.session()
        turn = await machines.begin(session, [["risky", {"key": "late"}]], "Nobody was there.")
        question = await machines.question(session)
        await machines.becomes(turn.id, "parked")
        free = await machines.sessions.try_claim(session)
        assert free is not None
        await machines.sessions.release(free)
        ended = await machines.ended(turn.id)
        late = await machines.sessions.decide(question.id, Approval(allowed=True))
        [asked] = [event for event in await machines.events(session) if event.kind == "approval_request"]
        waited = await machines.db.read(
            lambda tx: tx.row("SELECT decided_at - asked_at FROM approvals WHERE id = ?1", question.id)
        )

        assert (ended.status, ended.attempt) == ("done", 1)
        assert NO_ANSWER in await _told(machines, session)
        assert late is False
        assert machines.effects() == []
        assert waited is not None
        assert 3 <= waited[0] < 60
        assert asked.payload["deadline"] == pytest.approx(asked.created_at + 3, abs=1)
        assert await _count(machines, session, "turn_resumed") <= 2, "it was put aside and woken again and again"


async def test_a02_an_answer_after_the_deadline_does_not_count_though_nobody_was_there_to_say_so(
    own_url: str, tmp_path: Path
) -> None:
    async with _machines(own_url, tmp_path, TOOLGATE_AGENT_APPROVAL_TIMEOUT="3") as machines:
        worker = machines.worker()
        await machines.ready(worker)
        session = await machines.session()
        turn = await machines.begin(session, [["risky", {"key": "too late"}]], "Too late.")
        question = await machines.question(session)
        await machines.becomes(turn.id, "parked")
        worker.kill()
        await asyncio.sleep(3.5)
        await machines.sessions.decide(question.id, Approval(allowed=True))
        await machines.ready(machines.worker())
        ended = await machines.ended(turn.id)

        assert ended.status == "done"
        assert "the answer came after its time" in await _told(machines, session)
        assert machines.effects() == []


async def test_an_answer_that_was_given_while_nobody_worked_counts(machines: Cluster) -> None:
    worker = machines.worker(TOOLGATE_DISTRIBUTED_PARK_SECONDS="60")
    await machines.ready(worker)
    session = await machines.session()
    turn = await machines.begin(session, [["risky", {"key": "allowed"}]], "As you wish.")
    question = await machines.question(session)
    await machines.kill(worker)
    assert await machines.sessions.decide(question.id, Approval(allowed=True))
    await machines.ready(machines.worker())
    ended = await machines.ended(turn.id)

    assert (ended.status, ended.attempt) == ("done", 2)
    assert machines.effects() == ["allowed"]
    assert await _count(machines, session, "approval_request") == 1
    assert await _count(machines, session, "approval_resolved") == 1


async def test_a_question_waits_for_days_and_longer_than_the_worker_that_asked_it(machines: Cluster) -> None:
    worker = machines.worker()
    await machines.ready(worker)
    session = await machines.session()
    turn = await machines.begin(session, [["risky", {"key": "at last"}]], "At last.")
    question = await machines.question(session)
    await machines.becomes(turn.id, "parked")
    worker.kill()
    await machines.db.write(_three_days_later)
    await machines.ready(machines.worker())
    await asyncio.sleep(2.0)  # it looks after what nobody looks after, and tidies up
    still = await machines.state(turn.id)
    await machines.sessions.decide(question.id, Approval(allowed=True))
    ended = await machines.ended(turn.id)

    assert still == "parked"
    assert (ended.status, ended.attempt) == ("done", 1)
    assert machines.effects() == ["at", "last"]


def _three_days_later(transaction: Transaction) -> None:
    """Let everything that was written so far be three days old."""
    days = 3 * 86_400
    transaction.run(f"UPDATE approvals SET asked_at = asked_at - {days}")
    transaction.run(f"UPDATE turns SET started_at = started_at - {days}")
    transaction.run(f"UPDATE dispatches SET submitted_at = submitted_at - {days}, claimed_at = claimed_at - {days}")
    transaction.run(f"UPDATE workers SET seen_at = seen_at - {days}, started_at = started_at - {days}")


async def test_a_question_that_is_open_when_its_worker_dies_is_not_asked_twice(machines: Cluster) -> None:
    workers = [machines.worker(TOOLGATE_DISTRIBUTED_PARK_SECONDS="60") for _ in range(2)]
    await machines.ready(*workers)
    session = await machines.session()
    turn = await machines.begin(session, [["risky", {"key": "once"}]], "Once.")
    question = await machines.question(session)
    await machines.kill(await machines.player(turn.id))
    await until(lambda: _resumed(machines, session), what="another worker", logs=machines.logs)
    again = await machines.question(session)
    await machines.sessions.decide(question.id, Approval(allowed=False, message="Rather not."))
    ended = await machines.ended(turn.id)

    assert again == question
    assert (ended.status, ended.attempt) == ("done", 2)
    assert "Rather not." in await _told(machines, session)
    assert machines.effects() == []
    assert await _count(machines, session, "approval_request") == 1


async def _resumed(machines: Cluster, session: str) -> bool:
    return await _count(machines, session, "turn_resumed") > 0


async def test_a_message_that_is_sent_while_a_turn_waits_for_a_person_is_refused_and_nothing_changes(
    machines: Cluster,
) -> None:
    await machines.ready(machines.worker())
    session = await machines.session()
    turn = await machines.begin(session, [["risky", {"key": "still asked"}]], "Now.")
    question = await machines.question(session)
    await machines.becomes(turn.id, "parked")
    before = await machines.events(session)
    with pytest.raises(SessionBusy):
        await machines.begin(session, "In between.")
    after = await machines.events(session)
    await machines.sessions.decide(question.id, Approval(allowed=True))
    ended = await machines.ended(turn.id)
    next_one = await machines.ended((await machines.begin(session, "Afterwards.")).id)

    assert after == before
    assert (ended.status, next_one.status) == ("done", "done")
    assert machines.effects() == ["still", "asked"]


def _frames(one: Client, kind: str) -> list[dict[str, Any]]:
    return [frame["data"] for frame in one.frames if frame["type"] == kind]


async def test_a04_a_question_shown_by_one_gateway_is_answered_through_another_and_one_of_two_answers_counts(
    machines: Cluster,
) -> None:
    gateways = [gateway(machines), gateway(machines)]
    worker = machines.worker()
    ports = [await port_of(machines, process) for process in gateways]
    await machines.ready(worker)
    async with client(ports[0]) as first, client(ports[1]) as second:
        session = (await first.answer(await first.send("session.create")))["data"]["session_id"]
        await second.answer(await second.send("session.subscribe", session_id=session, after_seq=0))
        steps = [[["risky", {"key": "one"}]], [["risky", {"key": "two"}]], "Both."]
        await first.send("chat.send", session_id=session, content=json.dumps(steps))
        await until(lambda: _frames(first, "approval_request"), what="the question", logs=machines.logs)
        [question] = _frames(first, "approval_request")
        answer = {"id": question["id"], "allowed": True}
        requests = [
            (one, await one.send("approval.respond", **answer)) for one in [first, second] * 10
        ]  # twenty at once, from both
        answers = [await one.answer(request) for one, request in requests]
        await until(lambda: len(_frames(second, "approval_request")) == 2, what="the second one", logs=machines.logs)
        await second.answer(
            await second.send("approval.respond", id=_frames(second, "approval_request")[1]["id"], allowed=True)
        )
        await until(lambda: first.ends and second.ends, what="the end", logs=machines.logs)

    assert sorted(answer["type"] for answer in answers) == ["error"] * 19 + ["response"]
    assert {answer["data"]["code"] for answer in answers if answer["type"] == "error"} == {"INVALID_PARAMS"}
    assert machines.effects() == ["one", "two"]
    assert [frame["type"] for frame in first.durable] == [frame["type"] for frame in second.durable]
    assert [data["allowed"] for data in _frames(second, "approval_resolved")] == [True, True]
    assert first.text == second.text == "Both."


async def test_a03_nobody_else_may_answer_and_ids_that_do_not_exist_are_refused(machines: Cluster) -> None:
    tokens = "ada:token-of-ada,bob:token-of-bob"
    port = await port_of(machines, gateway(machines, TOOLGATE_GATEWAY_TOKENS=tokens))
    await machines.ready(machines.worker())
    async with client(port, "token-of-ada") as ada, client(port, "token-of-bob") as bob:
        session = (await ada.answer(await ada.send("session.create")))["data"]["session_id"]
        await ada.send("chat.send", session_id=session, content='[[["risky", {"key": "mine"}]], "Mine."]')
        question = await machines.question(session)
        theirs = await bob.answer(await bob.send("approval.respond", id=question.id, allowed=True))
        nothing = await ada.answer(await ada.send("approval.respond", id="0" * 32, allowed=True))
        pending = await machines.question(session)
        await ada.answer(await ada.send("approval.respond", id=question.id, allowed=False, message="No."))
        await until(lambda: ada.ends, what="the end", logs=machines.logs)

    assert theirs["data"] == nothing["data"]
    assert theirs["data"]["code"] == "INVALID_PARAMS"
    assert pending.id == question.id
    assert machines.effects() == []


async def test_an_answer_that_a_gateway_cannot_store_at_once_is_stored_when_its_database_is_back(
    machines: Cluster,
) -> None:
    from tests.distributed.faults import proxied

    async with proxied(machines.url) as (proxy, way):
        port = await port_of(machines, gateway(machines, TOOLGATE_DATABASE_URL=way))
        await machines.ready(machines.worker())
        async with client(port) as one:
            session = (await one.answer(await one.send("session.create")))["data"]["session_id"]
            await one.send("chat.send", session_id=session, content='[[["risky", {"key": "kept"}]], "Kept."]')
            question = await machines.question(session)
            [turn] = await machines.sessions.turns(session)
            await machines.becomes(turn.id, "parked")
            proxy.cut()
            sent = await one.send("approval.respond", id=question.id, allowed=True)
            await asyncio.sleep(1.5)  # an outage, longer than one attempt
            proxy.heal()
            answer = await one.answer(sent)
            ended = await machines.ended(turn.id)

    assert (answer["type"], answer["data"]) == ("response", {"id": question.id, "allowed": True})
    assert ended.status == "done"
    assert machines.effects() == ["kept"]


async def test_a_person_is_asked_though_the_database_restarts_meanwhile(machines: Cluster) -> None:
    from tests.distributed.faults import proxied

    async with proxied(machines.url) as (proxy, way):
        await machines.ready(machines.worker(TOOLGATE_DATABASE_URL=way, TOOLGATE_DISTRIBUTED_PARK_SECONDS="60"))
        session = await machines.session()
        turn = await machines.begin(session, [["risky", {"key": "after all"}]], "After all.")
        question = await machines.question(session)
        proxy.cut()
        await asyncio.sleep(1.0)
        proxy.heal()
        await asyncio.sleep(1.0)
        await machines.sessions.decide(question.id, Approval(allowed=True))
        ended = await machines.ended(turn.id)

    assert ended.status == "done"
    assert machines.effects() == ["after", "all"]
    assert await _count(machines, session, "approval_request") == 1


async def test_a_question_that_could_not_be_written_down_at_first_is_asked_all_the_same(machines: Cluster) -> None:
    await machines.ready(machines.worker(TEST_FLAKY="question"))
    session = await machines.session()
    turn = await machines.begin(session, [["risky", {"key": "asked"}]], "Asked.")
    await machines.sessions.decide((await machines.question(session)).id, Approval(allowed=True))
    ended = await machines.ended(turn.id)

    assert ended.status == "done"
    assert machines.effects() == ["asked"]


async def test_a_question_to_a_person_outlives_the_worker_and_the_gateway_that_asked_it(machines: Cluster) -> None:
    worker = machines.worker()
    await machines.ready(worker)
    session = await machines.session()
    turn = await machines.begin(session, [["ask_user", {"question": "Which?", "options": ["a", "b"]}]], "At last.")
    question = await machines.question(session)
    await machines.becomes(turn.id, "parked")
    worker.kill()
    await machines.ready(machines.worker())
    await machines.sessions.decide(question.id, Approval(allowed=True, text="b"))
    ended = await machines.ended(turn.id)

    assert (ended.status, ended.attempt) == ("done", 1)
    assert await _told(machines, session) == "The user answered: b"
    assert await _count(machines, session, "approval_request") == 1
