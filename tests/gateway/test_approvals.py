"""Approval requests over the wire: stored, and answered once, by the first client of that user."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.kit import Client, call, gateway, is_done, is_type, settings_for, text_of, types
from toolgate.protocol.approval import ApprovalRequest
from toolgate.settings import Settings
from toolgate.testing import ScriptedModel

WRITE = call("write_file", '{"path": "new.txt", "content": "hello\\n"}')


def with_deadline(settings: Settings, seconds: float) -> Settings:
    return settings.model_copy(update={"agent": settings.agent.model_copy(update={"approval_timeout": seconds})})


async def asked(client: Client, session: str) -> dict[str, Any]:
    await client.send("chat.send", session_id=session, content="Write it.")
    frames = await client.until(is_type("approval_request"))
    assert types(frames) == ["tool_call", "approval_request"]
    return frames[-1]


async def test_an_allowed_call_runs(tmp_path: Path) -> None:
    async with (
        gateway(settings_for(tmp_path), ScriptedModel([[WRITE], "Done."])) as running,
        running.client() as client,
    ):
        session = await client.session("coding")
        question = (await asked(client, session))["data"]
        assert (question["tool_name"], question["call_id"], question["session_id"]) == ("write_file", "c1", session)
        assert "+hello" in question["detail"]
        assert question["reason"]
        assert question["rule"].startswith("session: allow exactly write_file")
        assert time.time() < question["deadline"] < time.time() + 601
        assert ApprovalRequest.model_validate(question).id == question["id"]
        assert not (tmp_path / "root/new.txt").exists()
        answer = await client.data("approval.respond", id=question["id"], allowed=True)
        assert answer == {"id": question["id"], "allowed": True}
        frames = await client.until(is_done)
        assert types(frames) == ["approval_resolved", "tool_result", "stream_chunk", "stream_chunk"]
        assert frames[0]["data"] == {"id": question["id"], "allowed": True, "message": ""}
        assert (tmp_path / "root/new.txt").read_text() == "hello\n"


async def test_the_reason_of_a_no_reaches_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([[WRITE], "I see."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        question = (await asked(client, session))["data"]
        await client.data("approval.respond", id=question["id"], allowed=False, message="not on a Friday")
        frames = await client.until(is_done)
        assert frames[0]["data"] == {"id": question["id"], "allowed": False, "message": "not on a Friday"}
        assert frames[1]["data"]["code"] == "APPROVAL_DENIED"
        assert "not on a Friday" in model.requests[1].messages[-1]["content"]
        assert not (tmp_path / "root/new.txt").exists()


async def test_always_asks_no_second_time_for_exactly_the_same(tmp_path: Path) -> None:
    again = [[call("Bash", '{"command": "rm -f x"}', f"c{number}")] for number in range(2)]
    other = [call("Bash", '{"command": "rm -f y"}', "c9")]
    model = ScriptedModel([*again, other, "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        question = (await asked(client, session))["data"]
        assert "rm -f x" in question["rule"]
        await client.data("approval.respond", id=question["id"], allowed=True, remember=True)
        frames = await client.until(is_type("approval_request"))
        assert types(frames) == [
            "approval_resolved",
            "tool_result",
            "tool_call",
            "tool_result",
            "tool_call",
            "approval_request",
        ]
        assert "rm -f y" in frames[-1]["data"]["detail"]
        await client.data("approval.respond", id=frames[-1]["data"]["id"], allowed=False)
        await client.until(is_done)


async def test_nobody_answers_in_time_and_that_is_no(tmp_path: Path) -> None:
    settings = with_deadline(settings_for(tmp_path), 0.5)
    async with gateway(settings, ScriptedModel([[WRITE], "No."])) as running, running.client() as client:
        session = await client.session("coding")
        question = (await asked(client, session))["data"]
        frames = await client.until(is_done)
        assert frames[0]["data"]["allowed"] is False
        assert frames[1]["data"]["code"] == "APPROVAL_DENIED"
        late = await client.ask("approval.respond", id=question["id"], allowed=True)
        assert (late["type"], late["data"]["code"]) == ("error", "INVALID_PARAMS")
        assert not (tmp_path / "root/new.txt").exists()


async def test_of_many_answers_at_once_one_counts_and_the_call_runs_once(tmp_path: Path) -> None:
    model = ScriptedModel([[call("Bash", '{"command": "rm -f x; echo ran >> log"}')], "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        question = (await asked(client, session))["data"]

        async def answer() -> str:
            async with running.client() as other:
                return str((await other.ask("approval.respond", id=question["id"], allowed=True))["type"])

        answers = await asyncio.gather(*(answer() for _ in range(12)))
        assert sorted(answers) == ["error"] * 11 + ["response"]
        frames = await client.until(is_done)
        assert sum(frame["type"] == "approval_resolved" for frame in frames) == 1
        assert (tmp_path / "root/log").read_text() == "ran\n"


async def test_a_question_outlives_the_connection_and_comes_again(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel([[WRITE], "Done."])) as running:
        async with running.client() as client:
            session = await client.session("coding")
            question = await asked(client, session)
        assert not (tmp_path / "root/new.txt").exists()
        async with running.client() as client:
            got = await client.data("session.get", session_id=session)
            assert (got["running"], got["pending_approvals"]) == (True, [question["data"]["id"]])
            await client.data("session.subscribe", session_id=session, after_seq=question["seq"])
            assert await client.receive() == question
            await client.data("session.subscribe", session_id=session, after_seq=0)
            assert [f for f in await client.until(is_type("approval_request")) if f["type"] == "approval_request"] == [
                question
            ]
            await client.data("approval.respond", id=question["data"]["id"], allowed=True)
            frames = await client.until(is_done)
            assert sum(frame["type"] == "approval_request" for frame in frames) == 0
        assert (tmp_path / "root/new.txt").exists()


async def test_a_question_that_was_answered_does_not_come_again(tmp_path: Path) -> None:
    async with (
        gateway(settings_for(tmp_path), ScriptedModel([[WRITE], "Done."])) as running,
        running.client() as client,
    ):
        session = await client.session("coding")
        question = await asked(client, session)
        await client.data("approval.respond", id=question["data"]["id"], allowed=True)
        frames = await client.until(is_done)
        last = max(frame.get("seq", 0) for frame in frames)
        await client.data("session.subscribe", session_id=session, after_seq=last)
        assert "approval_request" not in types(await client.until(is_done))


async def test_cancelling_withdraws_the_question(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel([[WRITE], "No."])) as running, running.client() as client:
        session = await client.session("coding")
        question = (await asked(client, session))["data"]
        await client.data("chat.cancel", session_id=session)
        frames = await client.until(is_done)
        assert types(frames) == ["approval_resolved", "tool_result", "stream_chunk"]
        assert frames[0]["data"]["allowed"] is False
        assert frames[1]["data"]["code"] == "CANCELLED"
        frame = await client.ask("approval.respond", id=question["id"], allowed=True)
        assert frame["type"] == "error"
        assert not (tmp_path / "root/new.txt").exists()


@pytest.mark.parametrize("answer", [True, False])
async def test_a_sub_agents_question_names_it_and_rises_to_the_person(tmp_path: Path, answer: bool) -> None:
    task = call("task", '{"agent": "general", "prompt": "write", "description": "writing"}', "t1")
    model = ScriptedModel([[task], [WRITE], "Child done.", "Parent done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        await client.data("session.subscribe", session_id=session, details=True)
        await client.send("chat.send", session_id=session, content="Delegate.")
        frames = await client.until(is_type("approval_request"))
        question = frames[-1]["data"]
        assert (question["agent"], question["session_id"]) == ("general", session)
        child = next(frame["data"] for frame in frames if frame["type"] == "agent_started")
        assert (child["agent"], child["call_id"], child["description"]) == ("general", "t1", "writing")
        await client.data("session.subscribe", session_id=child["session_id"])
        await client.data("approval.respond", id=question["id"], allowed=answer)
        seen = await client.until(lambda frame: is_done(frame) and frame.get("session_id") == session)
        assert (tmp_path / "root/new.txt").exists() is answer
        mine = [frame for frame in seen if frame.get("session_id") == session]
        assert text_of(mine) == "Parent done."


QUESTION = call("ask_user", '{"question": "Which database?", "options": ["SQLite", "PostgreSQL"]}')


async def test_a_question_is_answered_with_a_text_and_an_empty_yes_leaves_it_open(tmp_path: Path) -> None:
    model = ScriptedModel([[QUESTION], "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("chat_safe")
        data = (await asked(client, session))["data"]
        assert data["question"] == {"text": "Which database?", "options": ["SQLite", "PostgreSQL"]}
        empty = await client.ask("approval.respond", id=data["id"], allowed=True)
        assert (empty["type"], empty["data"]["code"]) == ("error", "INVALID_PARAMS")
        await client.data("approval.respond", id=data["id"], allowed=True, text="PostgreSQL")
        frames = await client.until(is_done)
        assert types(frames)[:2] == ["approval_resolved", "tool_result"]
        assert model.requests[1].messages[-1]["content"] == "The user answered: PostgreSQL"


async def test_a_question_that_nobody_answers_in_time_says_so(tmp_path: Path) -> None:
    model = ScriptedModel([[QUESTION], "Then I decide."])
    async with gateway(with_deadline(settings_for(tmp_path), 0.3), model) as running, running.client() as client:
        session = await client.session("chat_safe")
        await asked(client, session)
        await client.until(is_done)
        said = model.requests[1].messages[-1]["content"]
        assert "The question was not answered: nobody answered in time." in said


async def test_a_text_is_an_answer_to_questions_only(tmp_path: Path) -> None:
    async with (
        gateway(settings_for(tmp_path), ScriptedModel([[WRITE], "Done."])) as running,
        running.client() as client,
    ):
        data = (await asked(client, await client.session("coding")))["data"]
        refused = await client.ask("approval.respond", id=data["id"], allowed=True, text="yes")
        assert (refused["type"], data["question"]) == ("error", None)
        await client.data("approval.respond", id=data["id"], allowed=False)
        await client.until(is_done)
