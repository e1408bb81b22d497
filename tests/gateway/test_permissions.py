"""Approval modes, choices and permissions over the wire."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.gateway.kit import Client, call, gateway, is_done, is_type, settings_for, types
from toolgate.testing import ScriptedModel


def write(path: str, id: str = "c1") -> Any:
    return call("write_file", f'{{"path": "{path}", "content": "hello\\n"}}', id)


ANN, BOB = "token-of-ann-0123456789", "token-of-bob-0123456789"
TOKENS = f"ann:{ANN},bob:{BOB}"
PLAN = call("propose_plan", '{"plan": "# Plan\\n\\n1. Write src/a.txt"}', "p1")


async def asked(client: Client, session: str) -> dict[str, Any]:
    await client.send("chat.send", session_id=session, content="Do it.")
    data: dict[str, Any] = (await client.until(is_type("approval_request")))[-1]["data"]
    return data


async def denied(client: Client, request: dict[str, Any]) -> None:
    await client.data("approval.respond", id=request["id"], allowed=False)
    await client.until(is_done)


async def test_a_session_is_created_in_an_approval_mode_and_says_so(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["Hello."])) as running, running.client() as client:
        made = await client.data("session.create", mode="coding", approval_mode="plan")
        assert (made["mode"], made["approval_mode"]) == ("coding", "plan")
        assert (await client.data("session.get", session_id=made["session_id"]))["approval_mode"] == "plan"
        await client.turn(made["session_id"])
        assert (await client.data("session.list"))["sessions"][0]["approval_mode"] == "plan"
        plain = await client.data("session.create")
        assert (await client.data("session.get", session_id=plain["session_id"]))["approval_mode"] == "ask"


async def test_accepted_edits_ask_nothing(tmp_path: Path) -> None:
    model = ScriptedModel([[write("src/a.txt")], "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        answer = await client.data("session.approval_mode", session_id=session, approval_mode="accept_edits")
        assert answer == {"session_id": session, "approval_mode": "accept_edits"}
        frames = await client.turn(session)
        assert "approval_request" not in types(frames)
        assert (tmp_path / "root/src/a.txt").read_text() == "hello\n"


async def test_two_browsers_that_switch_both_see_every_switch(tmp_path: Path) -> None:
    async with (
        gateway(settings_for(tmp_path), ScriptedModel([])) as running,
        running.client() as one,
        running.client() as two,
    ):
        session = await one.session("coding")
        for client in (one, two):
            await client.data("session.subscribe", session_id=session, details=True)
        await one.send("session.approval_mode", session_id=session, approval_mode="plan")
        await two.send("session.approval_mode", session_id=session, approval_mode="accept_edits")
        seen = []
        for client in (one, two):
            frames = [(await client.until(is_type("approval_mode")))[-1] for _ in range(2)]
            assert all(frame["turn_id"] is None for frame in frames)
            seen.append([(frame["seq"], frame["data"]["approval_mode"]) for frame in frames])
        assert seen[0] == seen[1]
        now = (await one.data("session.get", session_id=session))["approval_mode"]
        assert now == seen[0][-1][1]


async def test_a_client_without_details_gets_no_new_frames(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel(["Hello."])) as running, running.client() as client:
        session = await client.session("coding")
        await client.data("session.subscribe", session_id=session)
        await client.data("session.approval_mode", session_id=session, approval_mode="plan")
        assert set(types(await client.turn(session))) == {"stream_chunk"}


async def test_a_switch_during_a_turn_counts_for_the_next_call(tmp_path: Path) -> None:
    model = ScriptedModel([[write("a.txt")], [write("b.txt", "c2")], "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        request = await asked(client, session)
        await client.data("session.approval_mode", session_id=session, approval_mode="accept_edits")
        await client.data("approval.respond", id=request["id"], allowed=True)
        frames = await client.until(is_done)
        assert "approval_request" not in types(frames)
        assert (tmp_path / "root/b.txt").exists()


async def test_plan_mode_while_a_question_is_open_keeps_the_call_from_running(tmp_path: Path) -> None:
    model = ScriptedModel([[write("a.txt")], "I see."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        request = await asked(client, session)
        await client.data("session.approval_mode", session_id=session, approval_mode="plan")
        await client.data("approval.respond", id=request["id"], allowed=True)
        frames = await client.until(is_done)
        assert "tool_denied" in types(frames)
        assert not (tmp_path / "root/a.txt").exists()
        offered = [[tool["function"]["name"] for tool in found.tools or []] for found in model.requests]
        assert "write_file" in offered[0]
        assert ("write_file" in offered[1], "propose_plan" in offered[1]) == (False, True)


async def test_a_plan_is_accepted_edited_and_carried_out(tmp_path: Path) -> None:
    model = ScriptedModel([[PLAN], [write("src/a.txt", "c2")], "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = (await client.data("session.create", mode="coding", approval_mode="plan"))["session_id"]
        request = await asked(client, session)
        assert (request["tool_name"], request["detail"]) == ("propose_plan", "# Plan\n\n1. Write src/a.txt")
        assert request["choices"] == []
        refused = await client.ask("approval.respond", id=request["id"], allowed=True, remember=True, choice="call")
        assert refused["data"]["code"] == "INVALID_PARAMS"
        answer = {"allowed": True, "approval_mode": "accept_edits", "text": "1. Write src/a.txt, only that"}
        await client.data("approval.respond", id=request["id"], **answer)
        frames = await client.until(is_done)
        assert "approval_request" not in types(frames)
        assert (tmp_path / "root/src/a.txt").exists()
        assert "only that" in model.requests[1].messages[-1]["content"]
        assert "Plan mode" in model.requests[0].messages[0]["content"]
        assert "Plan mode" not in model.requests[1].messages[0]["content"]
        assert (await client.data("session.get", session_id=session))["approval_mode"] == "accept_edits"


async def test_a_refused_plan_tells_the_model_why_and_stays_in_plan_mode(tmp_path: Path) -> None:
    model = ScriptedModel([[PLAN], "I see."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = (await client.data("session.create", mode="coding", approval_mode="plan"))["session_id"]
        request = await asked(client, session)
        await client.data("approval.respond", id=request["id"], allowed=False, message="smaller steps")
        await client.until(is_done)
        assert "smaller steps" in model.requests[1].messages[-1]["content"]
        assert (await client.data("session.get", session_id=session))["approval_mode"] == "plan"


async def test_a_folder_is_remembered_listed_and_taken_back(tmp_path: Path) -> None:
    turns = [[write("src/a.txt")], [write("src/b.txt", "c2")], "Done.", [write("src/c.txt", "c3")], "Done."]
    async with gateway(settings_for(tmp_path), ScriptedModel(turns)) as running, running.client() as client:
        session = await client.session("coding")
        request = await asked(client, session)
        assert [(choice["id"], choice["scopes"]) for choice in request["choices"]] == [
            ("call", ["session"]),
            ("file", ["session"]),
            ("folder", ["session"]),
        ]
        assert (request["risk"], request["sentence"][:6]) == ("low", "Create")
        answer = {"allowed": True, "remember": True, "choice": "folder", "scope": "session"}
        await client.data("approval.respond", id=request["id"], **answer)
        assert "approval_request" not in types(await client.until(is_done))
        (rule,) = (await client.data("permissions.list", session_id=session))["rules"]
        assert (rule["label"], rule["scope"]) == ("edits in src", "session")
        assert rule["rule"] == request["choices"][2]["rule"]
        await client.data("session.subscribe", session_id=session, after_seq=10_000, details=True)
        assert await client.data("permissions.remove", session_id=session, id=rule["id"]) == {"removed": True}
        assert (await client.until(is_type("permission_removed")))[-1]["data"] == {"id": rule["id"]}
        assert (await client.data("permissions.list", session_id=session))["rules"] == []
        again = await client.ask("permissions.remove", session_id=session, id=rule["id"])
        assert again["data"]["code"] == "INVALID_PARAMS"
        await denied(client, await asked(client, session))


async def test_what_was_remembered_survives_a_restart(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with (
        gateway(settings, ScriptedModel([[write("src/a.txt")], "Done."])) as running,
        running.client() as client,
    ):
        session = await client.session("coding")
        request = await asked(client, session)
        await client.data("approval.respond", id=request["id"], allowed=True, remember=True, choice="folder")
        await client.until(is_done)
    async with (
        gateway(settings, ScriptedModel([[write("src/b.txt")], "Done."])) as running,
        running.client() as client,
    ):
        assert "approval_request" not in types(await client.turn(session))


async def test_a_rule_for_the_project_goes_to_the_users_own_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("# mine\n")
    settings = settings_for(tmp_path).model_copy(update={"policy_file": file})
    turns = [[write("src/a.txt")], "Done.", [write("src/b.txt", "c2")], "Done.", [write("src/c.txt", "c3")], "Done."]
    async with gateway(settings, ScriptedModel(turns)) as running, running.client() as client:
        session = await client.session("coding")
        request = await asked(client, session)
        assert request["choices"][2]["scopes"] == ["session", "project"]
        answer = {"allowed": True, "remember": True, "choice": "folder", "scope": "project"}
        await client.data("approval.respond", id=request["id"], **answer)
        await client.until(is_done)
        assert request["choices"][2]["rule"] in file.read_text()
        assert not (tmp_path / "root/.toolgate/policy.toml").exists()
        other = await client.session("coding")
        assert "approval_request" not in types(await client.turn(other))
        (rule,) = (await client.data("permissions.list", session_id=other))["rules"]
        assert (rule["label"], rule["scope"]) == ("edits in src", "project")
        await client.data("permissions.remove", session_id=other, id=rule["id"])
        assert file.read_text() == "# mine\n"
        await denied(client, await asked(client, other))


async def test_a_gateway_of_several_people_writes_nobodys_policy(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, tokens=SecretStr(TOKENS))
    settings = settings.model_copy(update={"policy_file": tmp_path / "policy.toml"})
    (tmp_path / "policy.toml").write_text("")
    model = ScriptedModel([[write("src/a.txt")], "Done."])
    async with gateway(settings, model) as running, running.client(token=ANN) as client:
        request = await asked(client, await client.session("coding"))
        assert {scope for choice in request["choices"] for scope in choice["scopes"]} == {"session"}
        await denied(client, request)


async def test_a_second_user_who_comes_while_the_gateway_runs_changes_nothing_of_the_first_ones(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("# mine\n")
    settings = settings_for(tmp_path, tokens=SecretStr(f"ann:{ANN}")).model_copy(update={"policy_file": file})
    async with gateway(settings, ScriptedModel([[write("src/a.txt")], "Done."])) as running:
        running.app.state.access.replace({"ann": ANN, "bob": BOB})
        async with running.client(token=BOB) as bob:
            session = await bob.session("coding")
            request = await asked(bob, session)
            answer = {"allowed": True, "remember": True, "choice": "folder", "scope": "project"}
            refused = await bob.ask("approval.respond", id=request["id"], **answer)
            assert (refused["data"]["code"], "several users" in refused["data"]["message"]) == ("INVALID_PARAMS", True)
            await denied(bob, request)
            refused = await bob.ask("model.configure", provider="openai", api_key="sk-of-bob", model="m")
            assert "set up by its operator" in refused["data"]["message"]
            assert (await bob.data("model.list"))["setup"] is False
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"choice": "everything", "remember": True},
        {"choice": "prefix", "remember": True},
        {"choice": "folder", "scope": "project", "remember": True},
        {"choice": "folder", "scope": "world", "remember": True},
        {"choice": "folder"},
        {"scope": "session", "remember": True},
        {"approval_mode": "accept_edits"},
        {"approval_mode": "plan"},
        {"text": "another plan"},
    ],
)
async def test_an_answer_that_was_not_offered_leaves_the_question_open(tmp_path: Path, answer: dict[str, Any]) -> None:
    model = ScriptedModel([[write("src/a.txt")], "Done."])
    async with gateway(settings_for(tmp_path), model) as running, running.client() as client:
        session = await client.session("coding")
        request = await asked(client, session)
        refused = await client.ask("approval.respond", id=request["id"], allowed=True, **answer)
        assert (refused["type"], refused["data"]["code"]) == ("error", "INVALID_PARAMS")
        await client.data("approval.respond", id=request["id"], allowed=True)
        await client.until(is_done)
        assert (tmp_path / "root/src/a.txt").exists()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session.approval_mode", {"approval_mode": "plan"}),
        ("permissions.list", {}),
        ("permissions.remove", {"id": "x"}),
    ],
)
async def test_other_peoples_sessions_do_not_exist(tmp_path: Path, method: str, params: dict[str, Any]) -> None:
    async with (
        gateway(settings_for(tmp_path, tokens=SecretStr(TOKENS)), ScriptedModel([])) as running,
        running.client(token=ANN) as ann,
        running.client(token=BOB) as bob,
    ):
        session = await ann.session("coding")
        refused = await bob.ask(method, session_id=session, **params)
        assert refused["data"] == {"code": "INVALID_PARAMS", "message": "There is no such session."}
        assert (await ann.data("session.get", session_id=session))["approval_mode"] == "ask"


async def test_an_unknown_approval_mode_is_refused(tmp_path: Path) -> None:
    async with gateway(settings_for(tmp_path), ScriptedModel([])) as running, running.client() as client:
        session = await client.session("coding")
        for method, params in (
            ("session.approval_mode", {"session_id": session, "approval_mode": "yolo"}),
            ("session.create", {"approval_mode": "yolo"}),
        ):
            assert (await client.ask(method, **params))["data"]["code"] == "INVALID_PARAMS"
